package sandbox

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// The interpreter of Redis writes numbers with 14 digits where a script makes texts of them, so that a
// time in microseconds loses its last ones. The one here would write all: tostring and the operator ..
// are therefore replaced.

// concatenate is what the operator becomes.
const concatenate = "\x00concatenate"

// digits writes a number as the interpreter of Redis does.
func digits(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e14 {
		return strconv.FormatInt(int64(v), 10)
	}
	return fmt.Sprintf("%.14g", v)
}

func tostring(l *lua.LState) int {
	v := l.CheckAny(1)
	if n, ok := v.(lua.LNumber); ok {
		l.Push(lua.LString(digits(float64(n))))
		return 1
	}
	l.Push(l.ToStringMeta(v))
	return 1
}

// tonumber reads 1e-06 too, which the interpreter's own does not, for it has no point.
func tonumber(own *lua.LFunction) lua.LGFunction {
	return func(l *lua.LState) int {
		if text, ok := l.Get(1).(lua.LString); ok && l.GetTop() == 1 {
			if v, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64); err == nil {
				l.Push(lua.LNumber(v))
				return 1
			}
		}
		n := l.GetTop()
		l.Insert(own, 1)
		l.Call(n, 1)
		return 1
	}
}

func concat(l *lua.LState) int {
	text := ""
	for i := 1; i <= 2; i++ {
		switch v := l.Get(i).(type) {
		case lua.LNumber:
			text += digits(float64(v))
		case lua.LString:
			text += string(v)
		default:
			l.RaiseError("attempt to concatenate a %s value", v.Type())
		}
	}
	l.Push(lua.LString(text))
	return 1
}

// shorten replaces the operator .. everywhere below a node of the syntax tree.
func shorten(node any) { replace(reflect.ValueOf(node)) }

func replace(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		replace(v.Elem())
		if op, ok := v.Interface().(*ast.StringConcatOpExpr); ok && v.Kind() == reflect.Interface && v.CanSet() {
			name := &ast.IdentExpr{Value: concatenate}
			name.SetLine(op.Line())
			name.SetLastLine(op.LastLine())
			call := &ast.FuncCallExpr{Func: name, Args: []ast.Expr{op.Lhs, op.Rhs}, AdjustRet: true}
			call.SetLine(op.Line())
			call.SetLastLine(op.LastLine())
			v.Set(reflect.ValueOf(call))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				replace(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			replace(v.Index(i))
		}
	}
}

// random is math.random as Redis has it: after the same seed the same numbers come.
func (e *embedded) random(l *lua.LState) int {
	e.seed = (e.seed*0x5DEECE66D + 0xB) & (1<<48 - 1)
	r := float64(e.seed>>17%math.MaxInt32) / math.MaxInt32
	if n := l.GetTop(); n > 0 {
		low := l.OptInt(n-1, 1)
		r = math.Floor(r*float64(l.CheckInt(n)-low+1)) + float64(low)
	}
	l.Push(lua.LNumber(r))
	return 1
}

// spare answers by a look at the scores what miniredis would sort a whole set for: a log of thousands is trimmed at each
// request, mostly of nothing. known is false where entries are removed, and where one stands at a bound.
func (e *embedded) spare(verb string, args []string) (reply any, known bool) {
	if len(args) != 4 || verb != "ZREMRANGEBYSCORE" && verb != "ZCOUNT" {
		return nil, false
	}
	low, err := strconv.ParseFloat(strings.TrimPrefix(args[2], "("), 64)
	high, otherErr := strconv.ParseFloat(strings.TrimPrefix(args[3], "("), 64)
	if err != nil || otherErr != nil {
		return nil, false
	}
	if least, looked := e.least[args[1]]; looked && high < least {
		return 0, true
	}
	_, lost := e.send([]string{"TYPE", args[1]}) // what is over expires
	set, _ := e.redis.SortedSet(args[1])
	if lost != nil || len(set) == 0 {
		return nil, false
	}
	inside, least := 0, math.Inf(1)
	for _, v := range set {
		if v == low || v == high {
			return nil, false
		}
		if v > low && v < high {
			inside++
		}
		least = min(least, v)
	}
	e.least[args[1]] = least
	return inside, inside == 0 || verb == "ZCOUNT"
}

// bound keeps what is known of the least score of a set before a command is carried out: no entry of it has a lower one. Where
// a command may write another one, nothing is known any more.
func (e *embedded) bound(verb string, args []string) {
	switch verb {
	case "ZADD":
		least, looked := e.least[args[min(1, len(args)-1)]]
		if score, err := strconv.ParseFloat(args[min(2, len(args)-1)], 64); looked && err == nil && len(args) == 4 {
			e.least[args[1]] = min(least, score)
			return
		}
	case "ZCARD", "ZCOUNT", "ZREMRANGEBYSCORE", "ZREMRANGEBYRANK", "ZRANGE", "ZREVRANGE", "ZRANGEBYSCORE", "ZSCORE", "EXPIRE", "PEXPIRE":
		return
	case "SELECT", "SWAPDB":
		clear(e.least)
	}
	for _, a := range args[1:] {
		delete(e.least, a)
	}
}
