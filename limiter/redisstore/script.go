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

// script is a text that a server can run by its digest. It is written when it is first sent,
// for a limiter has several and most programs send one or two. Scripts are compared by address:
// compile makes each one once.
type script struct {
	write func() (text string, sha any)
}

// text is what the server runs.
func (s *script) text() string {
	text, _ := s.write()
	return text
}

// sha is the digest of the text, a string as an argument of a command: converted once.
func (s *script) sha() any {
	_, sha := s.write()
	return sha
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

// compiled are the scripts of this process, by scriptName.
var compiled sync.Map

type scriptName struct {
	file string
	parameters
}

// compile returns the script that decides with one algorithm with the given parameters, about
// one limit or about several together.
func compile(file string, t parameters) *script {
	name := scriptName{file, t}
	if known, ok := compiled.Load(name); ok {
		return known.(*script)
	}
	made := &script{}
	made.write = sync.OnceValues(func() (string, any) {
		text, err := lua(file, t)
		if err != nil { // the templates are part of the program, and a test writes them all
			panic(fmt.Sprintf("the script %s: %v", file, err))
		}
		sum := sha1.Sum([]byte(text))
		return text, hex.EncodeToString(sum[:])
	})
	known, _ := compiled.LoadOrStore(name, made)
	return known.(*script)
}

// lua writes a script.
func lua(file string, t parameters) (string, error) {
	frame := "decision.lua"
	switch {
	case t.Resets:
		frame = "reset.lua"
	case t.Stride > 0:
		frame = "several.lua"
	}
	common, err := templates()
	if err != nil {
		return "", err
	}
	one, err := common.Clone()
	if err != nil {
		return "", err
	}
	if one, err = one.ParseFS(luaFiles, "lua/"+file); err != nil {
		return "", err
	}
	var text strings.Builder
	if err := one.ExecuteTemplate(&text, frame, t); err != nil {
		return "", err
	}
	return indented(text.String()), nil
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
