package heat

import "testing"

func TestAWordEndsAtASign(t *testing.T) {
	for text, want := range map[string]string{"000:orders": "000", "größe": "größe", "a-b": "a", ":a": ":a", "": ""} {
		if got := word(text); got != want {
			t.Errorf("the word of %q is %q, want %q", text, got, want)
		}
	}
}
