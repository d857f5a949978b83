package sandbox_test
import ("testing";"os";"time";"ratescope/limiter";"path/filepath")
func TestProf(t *testing.T){ names,_:=filepath.Glob("testdata/"+os.Getenv("PF")); for _,n:=range names { text,_:=os.ReadFile(n); b:=time.Now(); r:=check(t,string(text),limiter.Limit{Count:1000,Window:time.Minute}); t.Log(n, r.Name(), r.Requests, time.Since(b)) } }
