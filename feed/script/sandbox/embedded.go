package sandbox

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	luajson "github.com/alicebob/miniredis/v2/gopher-json"
	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"ratescope/limiter"
	"ratescope/model/bench"
	"ratescope/model/collect"
)

// mostSteps is how many instructions a script may run, which take some seconds at most. Limiters run hundreds. They are counted
// and not timed: on a machine that is busy with other things a script that ends may take seconds, too.
const mostSteps = 20_000_000

// errEndless is a script that did not end and was stopped.
var errEndless = fmt.Errorf("%w: the script was stopped after %d million steps", bench.ErrEndless, mostSteps/1_000_000)

// steps is a context that is done after so many instructions: the interpreter asks it before each.
type steps struct {
	context.Context // one that is done
	left            int
}

// Done implements context.Context.
func (s *steps) Done() <-chan struct{} {
	if s.left--; s.left >= 0 {
		return nil
	}
	return s.Context.Done()
}

// ErrMissing is a script that uses what the embedded Redis has not got.
var ErrMissing = errors.New("the embedded Redis has not got it: check the script on a real server with --redis")

// missing finds what Redis offers to scripts and the embedded one does not.
var missing = collect.Regexp(`\b(cmsgpack|struct|bit)\.\w+|redis\.(acl_check_cmd|breakpoint)\b`)

// embedded is a Redis in this process. The script's own interpreter stands before it: it is made once
// and not for each call, it can be stopped, and it sees each command. Its commands are carried out by
// miniredis without a connection.
type embedded struct {
	redis *miniredis.Miniredis
	now   time.Time
	vm    *lua.LState
	main  *lua.LFunction
	lib   *lua.LFunction // what the script has registered, of a library of functions
	buf   bytes.Buffer   // a reply on its way
	in    *bufio.Reader  // of buf
	out   *bufio.Writer  // to buf
	ran   []Command
	seed  uint64             // of math.random
	least map[string]float64 // by sorted set: a bound of the scores from below, where one is known
}

func newEmbedded(text string) (*embedded, error) {
	if found := missing().FindString(text); found != "" {
		return nil, fmt.Errorf("the script uses %s, and %w", strings.TrimSuffix(found, "."), ErrMissing)
	}
	m := miniredis.NewMiniRedis()
	pipe, err := m.Dial() // starts it without a port
	if err != nil {
		return nil, err
	}
	_ = pipe.Close()
	e := &embedded{redis: m, now: time.Unix(0, 0), least: map[string]float64{}, in: bufio.NewReader(nil), out: bufio.NewWriter(nil)}
	m.SetTime(e.now)
	m.ClockTTL(true)
	if err := e.load(text); err != nil {
		m.Close()
		return nil, err
	}
	return e, nil
}

func (e *embedded) close() error {
	e.vm.Close()
	e.redis.Close()
	return nil
}

// load makes an interpreter with what Redis gives to scripts.
func (e *embedded) load(text string) error {
	chunk, err := parse.Parse(strings.NewReader(withoutShebang(text)), "script")
	if err != nil {
		return fmt.Errorf("the script is not Lua: %w", err)
	}
	for _, stmt := range chunk {
		shorten(stmt)
	}
	proto, err := lua.Compile(chunk, "script")
	if err != nil {
		return fmt.Errorf("the script is not Lua: %w", err)
	}
	e.vm = lua.NewState(lua.Options{SkipOpenLibs: true})
	for name, open := range map[string]lua.LGFunction{"": lua.OpenBase, lua.TabLibName: lua.OpenTable,
		lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath} {
		e.vm.Push(e.vm.NewFunction(open))
		e.vm.Push(lua.LString(name))
		e.vm.Call(1, 0)
	}
	e.vm.Push(e.vm.NewFunction(luajson.Loader))
	e.vm.Call(0, 1)
	e.vm.SetGlobal("cjson", e.vm.Get(-1))
	e.vm.Pop(1)
	api := e.vm.SetFuncs(e.vm.NewTable(), map[string]lua.LGFunction{
		"call": func(l *lua.LState) int { return e.call(l, true) }, "pcall": func(l *lua.LState) int { return e.call(l, false) },
		"error_reply": replyTable("err"), "status_reply": replyTable("ok"), "sha1hex": sha1hex,
		"register_function": e.register, "log": nothing, "replicate_commands": yes, "set_repl": nothing, "setresp": nothing,
	})
	for i, name := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING", "REPL_NONE", "REPL_AOF", "REPL_SLAVE",
		"REPL_ALL"} {
		api.RawSetString(name, lua.LNumber(i%4))
	}
	e.vm.SetGlobal("redis", api)
	e.vm.SetGlobal("server", api)
	e.vm.SetGlobal("tostring", e.vm.NewFunction(tostring))
	if own, ok := e.vm.GetGlobal("tonumber").(*lua.LFunction); ok {
		e.vm.SetGlobal("tonumber", e.vm.NewFunction(tonumber(own)))
	}
	e.vm.SetGlobal(concatenate, e.vm.NewFunction(concat))
	if m, ok := e.vm.GetGlobal("math").(*lua.LTable); ok {
		e.vm.SetFuncs(m, map[string]lua.LGFunction{"random": e.random, "randomseed": func(l *lua.LState) int {
			e.seed = uint64(uint32(l.CheckInt64(1)))<<16 | 0x330E
			return 0
		}})
	}
	guard := e.vm.SetFuncs(e.vm.NewTable(), map[string]lua.LGFunction{
		"__index": func(l *lua.LState) int {
			l.RaiseError("Script attempted to access nonexistent global variable '%s'", l.ToString(2))
			return 0
		},
		"__newindex": func(l *lua.LState) int {
			l.RaiseError("Attempt to modify a readonly table: the script sets the global '%s'", l.ToString(2))
			return 0
		},
	})
	e.vm.G.Global.Metatable = guard
	e.main = e.vm.NewFunctionFromProto(proto)
	return nil
}

func (e *embedded) setClock(at limiter.Instant) error {
	t := at.Time()
	if back := e.now.Sub(t); back > 0 { // expiries are instants on the server's clock: they stay where they are
		for _, k := range e.redis.Keys() {
			if ttl := e.redis.TTL(k); ttl > 0 {
				e.redis.SetTTL(k, ttl+back)
			}
		}
	}
	e.now = t
	e.redis.SetTime(t)
	return nil
}

func (e *embedded) run(keys, args []string) (any, []Command, error) {
	e.ran = nil
	done, cancel := context.WithCancel(context.Background())
	cancel()
	running := &steps{done, mostSteps}
	e.vm.SetContext(running)
	for name, list := range map[string][]string{"KEYS": keys, "ARGV": args} {
		t := e.vm.CreateTable(len(list), 0)
		for _, s := range list {
			t.Append(lua.LString(s))
		}
		e.vm.G.Global.RawSetString(name, t)
	}
	top := e.vm.GetTop()
	e.lib = nil
	e.vm.Push(e.main)
	err := e.vm.PCall(0, 1, nil)
	if err == nil && e.lib != nil {
		e.vm.SetTop(top)
		e.vm.Push(e.lib)
		e.vm.Push(e.vm.G.Global.RawGetString("KEYS"))
		e.vm.Push(e.vm.G.Global.RawGetString("ARGV"))
		err = e.vm.PCall(2, 1, nil)
	}
	if err != nil {
		e.vm.SetTop(top)
		if running.left < 0 {
			return nil, e.ran, errEndless
		}
		return nil, e.ran, scriptError(err)
	}
	reply := e.vm.Get(-1)
	e.vm.SetTop(top)
	value, err := fromLua(reply)
	return value, e.ran, err
}

// register is redis.register_function: the one function of a library is called with its keys and arguments.
func (e *embedded) register(l *lua.LState) int {
	if e.lib != nil {
		l.RaiseError("%s", oneFunction)
	}
	if t, ok := l.Get(1).(*lua.LTable); ok {
		e.lib, _ = t.RawGetString("callback").(*lua.LFunction)
	} else {
		e.lib = l.CheckFunction(2)
	}
	return 0
}

// scriptError is the message of an error of the script, without the stack.
func scriptError(err error) error {
	var api *lua.ApiError
	if errors.As(err, &api) {
		if t, ok := api.Object.(*lua.LTable); ok {
			return errors.New(lua.LVAsString(t.RawGetString("err")))
		}
		return errors.New(strings.TrimSpace(api.Object.String()))
	}
	return err
}

func (e *embedded) do(args ...string) (any, error) {
	reply, err := e.dispatch(args)
	return plain(reply), err
}

func (e *embedded) dispatch(args []string) (any, error) {
	verb := strings.ToUpper(args[0])
	if (verb == "TTL" || verb == "PTTL") && len(args) == 2 { // Redis counts whole milliseconds and rounds seconds, miniredis cuts off
		reply, err := e.send([]string{"PTTL", args[1]})
		if ms, ok := reply.(int); ok && ms >= 0 {
			ms = int((e.redis.TTL(args[1]) + time.Millisecond - 1) / time.Millisecond)
			if reply = ms; verb == "TTL" {
				reply = (ms + 500) / 1000
			}
		}
		return reply, err
	}
	if reply, known := e.spare(verb, args); known {
		return reply, nil
	}
	e.bound(verb, args)
	return e.send(args)
}

func (e *embedded) send(args []string) (any, error) {
	e.buf.Reset()
	e.out.Reset(&e.buf)
	e.redis.Server().Dispatch(server.NewPeer(e.out), args)
	_ = e.out.Flush()
	e.in.Reset(&e.buf)
	return server.ParseReply(e.in)
}

// plain gives the replies of miniredis the types of go-redis.
func plain(reply any) any {
	switch v := reply.(type) {
	case int:
		return int64(v)
	case server.Simple:
		return string(v)
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	}
	return reply
}

// call is redis.call, and redis.pcall where errors are not raised.
func (e *embedded) call(l *lua.LState, raise bool) int {
	args := make([]string, l.GetTop())
	for i := range args {
		switch a := l.Get(i + 1).(type) {
		case lua.LNumber:
			args[i] = argument(float64(a))
		case lua.LString:
			args[i] = string(a)
		default:
			l.RaiseError("Command arguments must be strings or integers")
		}
	}
	if len(args) == 0 {
		l.RaiseError("Please specify at least one argument for this redis.call() call")
	}
	if strings.EqualFold(args[0], "EVAL") || strings.EqualFold(args[0], "EVALSHA") {
		l.RaiseError("This Redis command is not allowed from script")
	}
	c := Command{Args: args, Line: currentLine(l)}
	reply, err := e.dispatch(args)
	if err != nil {
		c.Answer = err.Error()
		e.ran = append(e.ran, c)
		if raise {
			l.RaiseError("%s", err.Error())
		}
		t := l.NewTable()
		t.RawSetString("err", lua.LString(err.Error()))
		l.Push(t)
		return 1
	}
	c.Answer = answerText(reply)
	e.ran = append(e.ran, c)
	l.Push(toLua(l, reply))
	return 1
}

// answerText writes a reply for people.
func answerText(reply any) string {
	switch v := reply.(type) {
	case nil:
		return "nothing"
	case []any:
		texts := collect.Map(v, answerText)
		return cmp.Or(strings.Join(texts, ", "), "nothing")
	}
	return fmt.Sprint(reply)
}

func currentLine(l *lua.LState) int {
	if d, ok := l.GetStack(1); ok {
		if _, err := l.GetInfo("l", d, lua.LNil); err == nil {
			return d.CurrentLine
		}
	}
	return 0
}

// argument writes a number as Redis hands it from Lua to a command.
func argument(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e17 {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', 17, 64)
}

func toLua(l *lua.LState, reply any) lua.LValue {
	switch v := reply.(type) {
	case int:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case server.Simple:
		t := l.NewTable()
		t.RawSetString("ok", lua.LString(v))
		return t
	case []any:
		t := l.CreateTable(len(v), 0)
		for i, one := range v {
			t.RawSetInt(i+1, toLua(l, one))
		}
		return t
	}
	return lua.LFalse
}

// fromLua turns what a script returns into what a client gets.
func fromLua(v lua.LValue) (any, error) {
	switch v := v.(type) {
	case lua.LBool:
		if v {
			return int64(1), nil
		}
		return nil, nil
	case lua.LNumber:
		return int64(v), nil
	case lua.LString:
		return string(v), nil
	case *lua.LTable:
		if text, ok := v.RawGetString("err").(lua.LString); ok {
			return nil, errors.New(string(text))
		}
		if text, ok := v.RawGetString("ok").(lua.LString); ok {
			return string(text), nil
		}
		list := []any{}
		for i := 1; v.RawGetInt(i) != lua.LNil; i++ {
			one, err := fromLua(v.RawGetInt(i))
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		return list, nil
	}
	return nil, nil
}

func replyTable(field string) lua.LGFunction {
	return func(l *lua.LState) int {
		t := l.NewTable()
		t.RawSetString(field, lua.LString(l.CheckString(1)))
		l.Push(t)
		return 1
	}
}

func sha1hex(l *lua.LState) int {
	sum := sha1.Sum([]byte(l.CheckString(1)))
	l.Push(lua.LString(hex.EncodeToString(sum[:])))
	return 1
}

func nothing(*lua.LState) int { return 0 }

func yes(l *lua.LState) int {
	l.Push(lua.LTrue)
	return 1
}
