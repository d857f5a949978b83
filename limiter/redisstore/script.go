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

// script is a Lua script that a server can run by its digest. Its text is written when it is first
// needed, because a limiter has several scripts and most programs send one or two. Scripts are
// compared by address: compile makes each one once.
type script struct {
	write func() (text string, sha any)
}

// text returns the script's text.
func (s *script) text() string {
	text, _ := s.write()
	return text
}

// sha returns the digest of the text as an argument of a command.
func (s *script) sha() any {
	_, sha := s.write()
	return sha
}

var templates = sync.OnceValues(func() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{"arg": arg, "code": code}).Funcs(fixedParameters).ParseFS(luaFiles, "lua/decision.lua", "lua/several.lua", "lua/reset.lua", "lua/clock.lua", "lua/append.lua", "lua/moment.lua", "lua/denied.lua", "lua/guard.lua")
})

// arg returns the argument of a script at the sum of places.
func arg(places ...int) string {
	sum := 0
	for _, p := range places {
		sum += p
	}
	return fmt.Sprintf("ARGV[%d]", sum)
}

// code returns the number in a reply for the reason why a script did not decide.
func code(why string) (int, error) {
	for name, n := range map[string]int{"no totals": replyNoTotals, "read on": replyReadOn, "start anew": replyStartAnew, "no count": replyNoCount, "too many": replyTooMany, "foreign": replyForeign} {
		if name == why {
			return n, nil
		}
	}
	return 0, fmt.Errorf("there is no code for %q", why)
}

// compiled holds the scripts of this process, by scriptName.
var compiled sync.Map

type scriptName struct {
	file string
	parameters
}

// compile returns the script of a file with the given parameters.
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

// lua returns the text of a script.
func lua(file string, t parameters) (string, error) {
	frame := "decision.lua"
	switch {
	case t.Resets():
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

// indented indents a script, whose parts come from several files, for those who read it.
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
