package connect

import (
	"errors"
	"strings"
	"testing"
)

// FuzzRedact wants no password to be left in what is shown, parsed or not.
func FuzzRedact(f *testing.F) {
	f.Add("redis://user:", "@host:6379")
	f.Add("", "@host?x=")
	f.Fuzz(func(t *testing.T, before, after string) {
		const secret = "s3cr3t-Pa55"
		redact(before + after)
		if strings.ContainsAny(before, ":@?/") {
			return // before is the user name
		}
		for _, url := range []string{"redis://" + before + ":" + secret + "@" + after, "redis://:" + before + secret + after + "@host:6379"} {
			if got := redact(url); strings.Contains(got, secret) {
				t.Errorf("%q shows as %q", url, got)
			}
		}
	})
}

// TestNoPasswordInErrors: URLs that do not parse, or are refused, are named without the
// password, wherever in it the special characters are.
func TestNoPasswordInErrors(t *testing.T) {
	for _, urls := range [][]string{
		{"redis://:secr/et@h"}, {"redis://:secr?et@h"}, {"redis://:secr#et@h"}, {"redis://:secr@et@h:x"}, {"redis://:secr?e@t@h"},
		{"redis://user:secr/et@h:6379/0"}, {"redis://:secret@h:port"}, {"redis://:secret@h/x"}, {"redis://:secret@h?nosuch=1"},
		{"http://:secret@h"}, {":secret@h"}, {"redis+sentinel://:secret@h/"}, {"redis+sentinel://h/?sentinel_password=sec@ret"},
		{"rediss://:secret@h?skip_verify=true"}, {"redis://:secret@h?replica=true"}, {"redis://:%zzsecret@h"}, {"redis://:sec ret\x7f@h"},
		{"redis://:secret@h", "rediss://:secret@i"}, {"redis://:secret@h", "redis+sentinel://:secret@i/m"},
	} {
		_, err := Parse(urls, TLSFiles{})
		if err == nil {
			t.Errorf("%q is taken", urls)
			continue
		}
		for _, part := range []string{"secr", "sec ret", "sec@", "ret@", "et@", "zzs"} {
			if strings.Contains(err.Error(), part) {
				t.Errorf("%q: %v", urls, err)
			}
		}
	}
}

// TestAddressWithoutScheme wants the exact URL to write where an address has no scheme.
func TestAddressWithoutScheme(t *testing.T) {
	for raw, want := range map[string]string{
		"localhost:6379":     "write redis://localhost:6379",
		"localhost":          "write redis://localhost,",
		"127.0.0.1:6379/2":   "write redis://127.0.0.1:6379/2,",
		"[::1]:6379":         "write redis://[::1]:6379,",
		"/run/redis.sock":    "write unix:///run/redis.sock",
		"":                   "it names no scheme",
		"user:secret@h:6379": "write redis://[user:password@]host",
	} {
		_, err := Parse([]string{raw}, TLSFiles{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "path segment") {
			t.Errorf("%q: %v, want it to say %q", raw, err, want)
		}
	}
}

// TestExplainNamesTheRemedy: a server of another kind than the URL says is named with the URL to write.
func TestExplainNamesTheRemedy(t *testing.T) {
	for text, want := range map[string]string{
		"ERR unknown command 'time', with args beginning with: ": "write redis+sentinel://host:port/name",
		"ERR This instance has cluster support disabled":         "leave out ?cluster=true",
	} {
		if got := Explain(errors.New(text), "redis://h:26379"); !strings.Contains(got, want) || !strings.HasPrefix(got, "redis://h:26379 ") {
			t.Errorf("%q is explained as %q, want it to say %q", text, got, want)
		}
	}
}

// TestPlainTextIsNotMistakenForTLS refuses what would send a password unprotected although
// the person asked for TLS.
func TestPlainTextIsNotMistakenForTLS(t *testing.T) {
	for _, tc := range []struct {
		urls  []string
		files TLSFiles
		want  string
	}{
		{[]string{"redis://h"}, TLSFiles{ServerName: "h"}, "write rediss://"},
		{[]string{"unix:///tmp/s"}, TLSFiles{ServerName: "h"}, "write rediss://"},
		{[]string{"redis://h", "rediss://i"}, TLSFiles{}, "only one of them uses TLS"},
		{[]string{"rediss://h", "redis://i"}, TLSFiles{}, "only one of them uses TLS"},
		{[]string{"rediss://h", "redis://i"}, TLSFiles{ServerName: "h"}, "write rediss://"},
		{[]string{"rediss://h?skip_verify=true"}, TLSFiles{}, "--tls-ca"},
		{[]string{"rediss://h?skip_verify=1"}, TLSFiles{}, "--tls-ca"},
		{[]string{"rediss://h?skip_verify=t"}, TLSFiles{}, "--tls-ca"},
		{[]string{"rediss://h", "rediss://i"}, TLSFiles{ServerName: "h"}, ""},
		{[]string{"redis+sentinel://h/m"}, TLSFiles{ServerName: "h"}, ""},
		{[]string{"redis://h", "redis://i"}, TLSFiles{}, ""},
	} {
		_, err := Parse(tc.urls, tc.files)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %q", tc.urls, err, tc.want)
		}
	}
}

// FuzzParse reads URLs from a command line: no error has the password in it, and neither has what is
// shown of the server.
func FuzzParse(f *testing.F) {
	f.Add("redis://user:", "@host:6379/0?cluster=true")
	f.Add("redis+sentinel://:", "@a,b/master?replica=true")
	f.Add("rediss://:", "@h?skip_verify=true")
	f.Fuzz(func(t *testing.T, before, after string) {
		const secret = "s3cr3t-Pa55"
		if strings.Count(before, ":") > 2 || strings.ContainsAny(before, "@?#%") || !strings.HasSuffix(before, ":") || !strings.HasPrefix(after, "@") {
			return // what stands there is no password
		}
		e, err := Parse([]string{before + secret + after}, TLSFiles{})
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%v", err)
		}
		if e != nil && strings.Contains(e.Shown, secret) {
			t.Errorf("shown as %q", e.Shown)
		}
	})
}
