package watch

import (
	"testing"

	"ratescope/feed/connect"
	"ratescope/internal/servertest"
	"ratescope/model"
)

// TestARestartIsToldOnceAllIsRead: a round that finds the server restarted only after its readings, which may repeat what was known,
// keeps the run ID before. The next one reads all and has the new one.
func TestARestartIsToldOnceAllIsRead(t *testing.T) {
	s := servertest.Start(t)
	e, err := connect.Parse([]string{s.URL()}, connect.TLSFiles{})
	if err != nil {
		t.Fatal(err)
	}
	w := New(Options{Watch: []string{"rl:*"}}, e, nil)
	defer w.Close()
	round := func() string {
		if err := w.reader.round(t.Context(), order{kind: orderFull}, &model.Batch{}); err != nil {
			t.Fatal(err)
		}
		return w.reader.link.server.RunID
	}
	before := round()
	s.Kill()
	s.Start()
	servertest.Await(t, "a connection to the new server", func() bool { return w.reader.link.client.Ping(t.Context()).Err() == nil })
	if is := round(); is != before {
		t.Errorf("the round that met the restart has the run ID %s, want %s", is, before)
	}
	if is := round(); is == before || is == "" {
		t.Errorf("the round that read all has the run ID %q, which was that of the server before", is)
	}
}
