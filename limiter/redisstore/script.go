package redisstore

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"text/template"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// script is a text that a server can run by its digest. Scripts are compared by address:
// compile writes each one once.
type script struct {
	text string
	sha  any // a string, as an argument of a command: converted once
}

var templates = sync.OnceValues(func() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{"arg": arg, "code": code}).ParseFS(luaFiles, "lua/decision.lua", "lua/several.lua", "lua/reset.lua", "lua/clock.lua", "lua/append.lua", "lua/moment.lua", "lua/denied.lua", "lua/guard.lua")
})

// arg is an argument of a script by its place, counted from another one.
func arg(places ...int) string {
	sum := 0
	for _, p := range places {
		sum += p
	}
	return fmt.Sprintf("ARGV[%d]", sum)
}

// code is the number with which a reply says why a script did not decide.
func code(why string) (int, error) {
	for name, n := range map[string]int{"no totals": replyNoTotals, "read on": replyReadOn, "start anew": replyStartAnew, "no count": replyNoCount, "too many": replyTooMany, "foreign": replyForeign} {
		if name == why {
			return n, nil
		}
	}
	return 0, fmt.Errorf("there is no code for %q", why)
}

// compiled are the scripts that this process has written, by scriptName.
var compiled sync.Map

type scriptName struct {
	file string
	parameters
}

// compile writes the script that decides with one algorithm with the given parameters, about
// one limit or about several together.
func compile(file string, t parameters) (*script, error) {
	name := scriptName{file, t}
	if known, ok := compiled.Load(name); ok {
		return known.(*script), nil
	}
	frame := "decision.lua"
	switch {
	case t.Resets:
		frame = "reset.lua"
	case t.Stride > 0:
		frame = "several.lua"
	}
	common, err := templates()
	if err != nil {
		return nil, err
	}
	one, err := common.Clone()
	if err != nil {
		return nil, err
	}
	if one, err = one.ParseFS(luaFiles, "lua/"+file); err != nil {
		return nil, err
	}
	var text strings.Builder
	if err := one.ExecuteTemplate(&text, frame, t); err != nil {
		return nil, err
	}
	lua := indented(text.String())
	sum := sha1.Sum([]byte(lua))
	known, _ := compiled.LoadOrStore(name, &script{text: lua, sha: hex.EncodeToString(sum[:])})
	return known.(*script), nil
}

var (
	luaQuoted = regexp.MustCompile(`'[^']*'|--.*`)
	luaWords  = regexp.MustCompile(`\b(function|if|do|repeat|else|elseif|end|until)\b`)
)

// indented sets a script as if it had been written in one go: its parts come from several
// files and know nothing of the blocks around them, and people read and copy the whole.
func indented(lua string) string {
	var b strings.Builder
	depth := 0
	for line := range strings.Lines(lua) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		at := depth
		for i, word := range luaWords.FindAllString(luaQuoted.ReplaceAllString(line, ""), -1) {
			switch word {
			case "end", "until":
				depth--
			case "else", "elseif":
				if i == 0 {
					at--
				}
			default:
				depth++
			}
		}
		b.WriteString(strings.Repeat("  ", min(at, depth)) + line + "\n")
	}
	return b.String()
}
