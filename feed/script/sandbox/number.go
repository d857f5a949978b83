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
