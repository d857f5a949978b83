package safetext_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/clipperhouse/uax29/v2/graphemes"

	"ratescope/model/safetext"
)

func TestClean(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"an ordinary name", "rl:api:{user:42}", "rl:api:{user:42}"},
		{"an escape sequence", "a\x1b[31mred\x1b[0m", `a\x1b[31mred\x1b[0m`},
		{"a window title", "\x1b]0;owned\x07", `\x1b]0;owned\x07`},
		{"lines and tabs", "a\nb\r\tc", `a\nb\r\tc`},
		{"delete", "a\x7f", `a\x7f`},
		{"C1 as code points", "a\u009b31m", `a\u009b31m`},
		{"C1 as a bare byte", "a\x9b31m", `a\x9b31m`},
		{"broken UTF-8", "a\xff\xc3", `a\xff\xc3`},
		{"a real replacement character", "a\ufffd", "a\ufffd"},
		{"reversed reading direction", "pay\u202egpj.exe", `pay\u202egpj.exe`},
		{"zero width", "a\u200bb\ufeff", `a\u200bb\ufeff`},
		{"a space that is not one", "a\u00a0b", `a\u00a0b`},
		{"tag characters", "a\U000e0001", `a\U000e0001`},
		{"backslash", `a\x1b`, `a\\x1b`},
		{"wide letters", "限流:上海", "限流:上海"},
		{"emoji", "rl:🚀", "rl:🚀"},
		{"joined emoji", "👩\u200d💻", `👩\u200d\U0001f4bb`},
		{"skin tone", "👍🏽", `👍\U0001f3fd`},
		{"emoji presentation", "❤\ufe0f", `❤\ufe0f`},
		{"a flag", "🇨🇭", `\U0001f1e8\U0001f1ed`},
		{"combining marks", "e\u0301", `e\u0301`},
		{"composed letter", "é", "é"},
		{"invisible letters", "a\u3164\u2800", `a\u3164\u2800`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := safetext.Clean(tc.in); got != tc.want {
				t.Errorf("Clean(%q) = %q, want %q", tc.in, got, tc.want)
			}
		})
	}
}

func TestSentence(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"it works", "it works"},
		{`key "a\x1b[m" is a list`, `key "a\x1b[m" is a list`},
		{"two\nlines \x1b[31m", `two\nlines \x1b[31m`},
		{"bad \xff\\\xfe", `bad \xff\\xfe`},
	} {
		if got := safetext.Sentence(tc.in); got != tc.want {
			t.Errorf("Sentence(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestClipAndShorten(t *testing.T) {
	for _, tc := range []struct {
		in            string
		cells         int
		clip, shorten string
	}{
		{"rl:user:1234", 20, "rl:user:1234", "rl:user:1234"},
		{"rl:user:1234", 12, "rl:user:1234", "rl:user:1234"},
		{"rl:user:1234", 8, "rl:user…", "rl:…1234"},
		{"rl:user:1234", 1, "…", "…"},
		{"rl:user:1234", 0, "", ""},
		{"rl:user:1234", -3, "", ""},
		{"限流限流", 8, "限流限流", "限流限流"},
		{"限流限流", 6, "限流…", "限…流"},
		{"限流限流", 2, "…", "…"},
	} {
		if got := safetext.Clip(tc.in, tc.cells, safetext.Ellipsis); got != tc.clip {
			t.Errorf("Clip(%q, %d) = %q, want %q", tc.in, tc.cells, got, tc.clip)
		}
		if got := safetext.Shorten(tc.in, tc.cells, safetext.Ellipsis); got != tc.shorten {
			t.Errorf("Shorten(%q, %d) = %q, want %q", tc.in, tc.cells, got, tc.shorten)
		}
	}
}

func TestMask(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", "***"},
		{"a", "***"},
		{"abcd", "ab***"},
		{"session:9f86d081884c7d65", "session:***d65"},
		{"\xff\xfe\xfd\xfc", "\xff\xfe***"},
		{"限流限流限流", "限流***流"},
	} {
		if got := safetext.Mask(tc.in); got != tc.want {
			t.Errorf("Mask(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

// hostile are seeds for the fuzz targets: one of each kind of trouble.
var hostile = []string{
	"", "plain", "\x1b[2J\x1b]0;t\x07", "\x9b31m", "\u009b31m", "a\xffb\xc3(", "\u202eabc\u202c",
	"👩\u200d👩\u200d👧\u200d👦", "🇨🇭🇨", "e\u0301\u0302\u0303", "각", "각", "\u0600\u0661", "\u0d4e\u0d15",
	"क्षि", "\r\n\t\x00", `\x1b`, "\u3164\u2800\u00ad", strings.Repeat("k", 4096), strings.Repeat("\u0336", 4096),
}

func FuzzClean(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, s+"x", 10)
	}
	f.Fuzz(func(t *testing.T, s, other string, cells int) {
		clean := safetext.Clean(s)
		if s != other && clean == safetext.Clean(other) {
			t.Fatalf("%q and %q both become %q", s, other, clean)
		}
		plainText(t, clean)
		if got, want := safetext.Width(clean), ansi.StringWidth(clean); got != want {
			t.Fatalf("Width(%q) = %d, the terminal says %d", clean, got, want)
		}
		cells %= 200
		for _, cut := range []string{
			safetext.Clip(clean, cells, safetext.Ellipsis),
			safetext.Shorten(clean, cells, safetext.ASCIIEllipsis),
		} {
			plainText(t, cut)
			if w := safetext.Width(cut); w > max(cells, 0) {
				t.Fatalf("%q cut to %d cells is %q, %d wide", clean, cells, cut, w)
			}
			if w := safetext.Width(clean); w <= cells && cut != clean {
				t.Fatalf("%q of %d cells was cut to %q though %d fit", clean, w, cut, cells)
			}
		}
		plainText(t, safetext.Clean(safetext.Mask(s)))
		if once := safetext.Sentence(s); safetext.Sentence(once) != once {
			t.Fatalf("Sentence(%q) = %q is not for good", s, once)
		}
	})
}

// plainText holds s to what the package promises of clean text.
func plainText(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Fatalf("%q is not UTF-8", s)
	}
	sum := 0
	for c := graphemes.FromString(s); c.Next(); {
		v := c.Value()
		r, size := utf8.DecodeRuneInString(v)
		if size != len(v) {
			t.Fatalf("%q holds the joined %q", s, v)
		}
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			t.Fatalf("%q holds the control character %U", s, r)
		}
		w := safetext.Width(v)
		if w != 1 && w != 2 {
			t.Fatalf("%q holds %U, %d cells wide", s, r, w)
		}
		sum += w
	}
	if w := safetext.Width(s); w != sum {
		t.Fatalf("%q is %d cells wide, its parts add up to %d", s, w, sum)
	}
}

func BenchmarkClean(b *testing.B) {
	for _, bc := range []struct{ name, in string }{
		{"plain", "rl:api:user:1234567"},
		{"wide", "限流:上海:🚀:1234567"},
		{"4KB", strings.Repeat("\x1b[31m限", 512)},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				safetext.Clean(bc.in)
			}
		})
	}
}

func TestClipWordsCutsBetweenWords(t *testing.T) {
	for _, tc := range []struct {
		text  string
		cells int
		want  string
	}{
		{"one each 600ms", 14, "one each 600ms"}, {"one each 600ms", 13, "one each…"}, {"one each 600ms", 9, "one each…"},
		{"one each 600ms", 8, "one…"}, {"one each 600ms", 3, ""}, {"600ms", 4, ""}, {"", 0, ""}, {"a", -1, ""},
	} {
		if got := safetext.ClipWords(tc.text, tc.cells, safetext.Ellipsis); got != tc.want {
			t.Errorf("%q in %d cells is %q, want %q", tc.text, tc.cells, got, tc.want)
		}
	}
}
