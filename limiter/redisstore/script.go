package redisstore

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// script is a Lua script that a server can run by its digest. Its text is written when it is first
// needed, because a limiter has several scripts and most programs send one or two. Scripts are
// compared by address: compile makes each one once.
type script struct{ write func() written }

// written is the text of a script, and its digest as an argument of a command.
type written struct {
	text string
	sha  any
}

var templates = sync.OnceValues(func() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{"arg": arg}).Funcs(fixedParameters).ParseFS(luaFiles, "lua/decision.lua",
		"lua/several.lua", "lua/reset.lua", "lua/clock.lua", "lua/append.lua", "lua/moment.lua", "lua/denied.lua", "lua/guard.lua")
})

// arg returns the argument of a script at the sum of places.
func arg(places ...int) string {
	sum := 0
	for _, p := range places {
		sum += p
	}
	return fmt.Sprintf("ARGV[%d]", sum)
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
	made.write = sync.OnceValue(func() written {
		text, err := lua(file, t)
		if err != nil { // the templates are part of the program, and a test writes them all
			panic(fmt.Sprintf("the script %s: %v", file, err))
		}
		sum := sha1.Sum([]byte(text))
		return written{text, hex.EncodeToString(sum[:])}
	})
	known, _ := compiled.LoadOrStore(name, made)
	return known.(*script)
}

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

const (
	verbTake = "evalsha"
	verbPeek = "evalsha_ro"
)

// decisionCmd is the call of a script, whose answer is whole numbers separated by spaces. The
// client must not repeat it after a timeout, because the request could be charged twice.
type decisionCmd struct {
	redis.StringCmd // not a pointer, which saves an allocation for each decision
	script          *script
	lean            *prepared      // the limit of a decision that can be made together with others; nil if it cannot
	group           []*decisionCmd // the decisions under one limit that the call makes; nil if it makes one
	room            [16]any        // holds the arguments, which saves another allocation
}

func newDecisionCmd(ctx context.Context, text *script, args []any) *decisionCmd {
	return new(decisionCmd).set(ctx, text, args)
}

// set makes c the call of a script with args, which may be a slice of c.room.
func (c *decisionCmd) set(ctx context.Context, text *script, args []any) *decisionCmd {
	c.StringCmd, c.script = *redis.NewStringCmd(ctx, args...), text
	return c
}

// NoRetry tells go-redis not to send the command again.
func (c *decisionCmd) NoRetry() bool { return true }

// Clone returns a copy that is not sent again either.
func (c *decisionCmd) Clone() redis.Cmder {
	return newDecisionCmd(context.Background(), c.script, slices.Clone(c.Args()))
}

// subject is the key and the limits of a call, for its errors.
type subject struct {
	key    string
	limits []limiter.Limit
	states []string // of several limits, the names of their states; else the key is
}

// run sends a command. If the server does not know the script, after a restart, a failover or SCRIPT
// FLUSH, it has decided nothing, and run sends the script's text once.
func (s *server) run(ctx context.Context, cmd *decisionCmd, about subject, act action) (string, error) {
	err := s.client.Process(ctx, cmd)
	if err == nil {
		return cmd.Val(), nil
	}
	switch {
	case strings.HasPrefix(err.Error(), "NOSCRIPT"):
	case act == looks && strings.Contains(strings.ToLower(err.Error()), "unknown command"):
		s.noReadOnly.Store(true)
	default:
		return "", s.explainFailure(ctx, err, about)
	}
	cmd = s.reload(ctx, cmd, act)
	if err = s.client.Process(ctx, cmd); err != nil {
		return "", s.explainFailure(ctx, err, about)
	}
	return cmd.Val(), nil
}

// reload returns the same call with the script's text, which the server then keeps.
func (s *server) reload(ctx context.Context, cmd *decisionCmd, act action) *decisionCmd {
	args := append([]any(nil), cmd.Args()...)
	args[0], args[1] = "eval", cmd.script.write().text
	if act == looks && !s.noReadOnly.Load() {
		args[0] = "eval_ro"
	}
	return newDecisionCmd(ctx, cmd.script, args)
}

// Call returns the words of the command that a Store sends for one request to a server that does not
// know the script: EVAL with the text of the script. It sends nothing. It is for reading the command
// or trying it by hand.
func Call(a limiter.Algorithm, key string, limit limiter.Limit, n int64, opts ...Option) ([]string, error) {
	s, err := newStore(nil, a, opts)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	p, err := s.check(ctx, key, limit, n)
	if err != nil {
		return nil, err
	}
	cmd := s.server.reload(ctx, s.server.command(ctx, s.plan.named(key), p, n, charges), charges)
	words := make([]string, 0, len(cmd.Args()))
	for _, arg := range cmd.Args() {
		words = append(words, fmt.Sprint(arg))
	}
	words[0] = "EVAL"
	return words, nil
}
