package docs_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ratescope/cmd"
	"ratescope/feed/config"
	"ratescope/feed/decode/library"
	"ratescope/model/collect"
	"ratescope/model/report"
	"ratescope/tui"
	"ratescope/tui/lab"
	"ratescope/tui/shell"
)

var update = flag.Bool("update", false, "write the tables of the program into the documents")

// TestTables holds the tables of the documents to the program: go test ./docs -update writes them.
func TestTables(t *testing.T) {
	for _, table := range []struct{ file, mark, text string }{
		{"libraries.md", "libraries", libraries()},
		{"keys.md", "keys", keys()},
		{"keys.md", "keys of other screens", otherKeys()},
		{"keys.md", "lab keys", markdown(lab.HelpKeys())},
		{"commands.md", "commands", commands()},
		{"commands.md", "flags", flags()},
		{"metrics.md", "metrics", descriptions()},
		{"configuration.md", "example", "```yaml\n" + config.Example + "```\n"},
	} {
		text := read(t, table.file)
		before, rest, begins := strings.Cut(text, "<!-- "+table.mark+" -->\n")
		listed, after, ends := strings.Cut(rest, "<!-- /"+table.mark+" -->")
		switch {
		case !begins || !ends:
			t.Errorf("%s has no marks of the %s", table.file, table.mark)
		case listed == table.text:
		case *update:
			text = before + "<!-- " + table.mark + " -->\n" + table.text + "<!-- /" + table.mark + " -->" + after
			if err := os.WriteFile(table.file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("the %s in docs/%s are not those of the program: run go test ./docs -update", table.mark, table.file)
		}
	}
}

// keys returns the table of the dashboard's keys, of which every other screen has most: otherKeys says what else it has.
func keys() string {
	app, _, err := tui.NewDashboard(context.Background(), tui.Options{})
	if err != nil {
		return err.Error()
	}
	return markdown(unique(app.All()))
}

// otherKeys returns the table of what keys do on the other screens and not on the dashboard.
func otherKeys() string {
	app, _, err := tui.NewDashboard(context.Background(), tui.Options{})
	if err != nil {
		return err.Error()
	}
	dashboard, screens := map[string]bool{}, []string(nil)
	for _, act := range app.All() {
		dashboard[act.What()] = true
		if key := act.Keys()[0]; key > "1" && key <= "9" && act.Name != "lab" { // which has a table of its own
			screens = append(screens, act.Name)
		}
	}
	var b strings.Builder
	b.WriteString("| screen | key | does |\n|---|---|---|\n")
	for _, name := range screens {
		app.Show(name)
		own := slices.DeleteFunc(unique(app.All()), func(act shell.Action) bool { return dashboard[act.What()] })
		for row := range strings.Lines(rows(own)) {
			b.WriteString("| " + name + " " + row)
		}
	}
	return b.String()
}

// markdown returns the table of actions.
func markdown(list shell.Actions) string {
	return "| key | does |\n|---|---|\n" + rows(list)
}

// rows returns a line of a table for each action.
func rows(list shell.Actions) string {
	var b strings.Builder
	for i := range list {
		quoted := collect.Map(list[i].Keys(), func(name string) string { return "`" + name + "`" })
		b.WriteString("| " + strings.Join(quoted, " ") + " | " + list[i].What() + " |\n")
	}
	return b.String()
}

// unique leaves out an action whose keys all belong to one before it.
func unique(list shell.Actions) shell.Actions {
	taken := map[string]bool{}
	var out shell.Actions
	for _, act := range list {
		fresh := false
		for _, k := range act.Keys() {
			fresh = fresh || !taken[k]
			taken[k] = true
		}
		if fresh {
			out = append(out, act)
		}
	}
	return out
}

func libraries() string {
	var rows, keeps []string
	for _, l := range library.All() {
		keeps = append(keeps, fmt.Sprintf("- **%s**: %s\n", l.Name, strings.NewReplacer("<", `\<`, "*", `\*`).Replace(l.Keeps)))
		version := l.Version
		if l.Published {
			version = strings.TrimSpace(version + " (published)")
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |\n", l.Name, version, strings.Join(l.Silent, "; ")))
	}
	slices.Sort(rows)
	slices.Sort(keeps)
	return "| library | checked with | not recorded there |\n|---|---|---|\n" + strings.Join(rows, "") +
		"\nWhat each keeps, and what its decoder relies on:\n\n" + strings.Join(keeps, "")
}

// each calls f with every command that people call.
func each(c *cobra.Command, f func(*cobra.Command)) {
	if c.HasParent() && !c.HasSubCommands() && c.Name() != "help" {
		f(c)
	}
	for _, sub := range c.Commands() {
		each(sub, f)
	}
}

func commands() string {
	var b strings.Builder
	b.WriteString("| command | does |\n|---|---|\n")
	each(cmd.Tree(), func(c *cobra.Command) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.TrimSuffix(c.UseLine(), " [flags]"), c.Short)
	})
	return b.String()
}

func flags() string {
	var b strings.Builder
	b.WriteString("| flag | of | does |\n|---|---|---|\n")
	root := cmd.Tree()
	row := func(of string) func(*pflag.Flag) {
		return func(f *pflag.Flag) {
			name := "--" + f.Name
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + "`, `" + name
			}
			usage := strings.ReplaceAll(f.Usage, "|", `\|`)
			if d := f.DefValue; !slices.Contains([]string{"", "0", "false", "[]", "0s"}, d) && !strings.Contains(f.Usage, "(default") {
				usage += " (default: " + d + ")"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, of, usage)
		}
	}
	root.PersistentFlags().VisitAll(row("all"))
	root.LocalNonPersistentFlags().VisitAll(row("the dashboard"))
	each(root, func(c *cobra.Command) {
		c.LocalNonPersistentFlags().VisitAll(row(strings.TrimPrefix(c.CommandPath(), root.Name()+" ")))
	})
	return b.String()
}

// metricHelp returns what each metric is, by its full name.
func metricHelp() map[string]string {
	list := map[string]string{}
	text, _ := os.ReadFile("../feed/metrics/help.txt")
	for line := range strings.Lines(string(text)) {
		name, help, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, _, _ = strings.Cut(name, "{")
		list["ratescope_"+name] = help
	}
	return list
}

func descriptions() string {
	list := metricHelp()
	var b strings.Builder
	b.WriteString("| metric | what it is |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(list)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, list[name])
	}
	return b.String()
}

// TestFormats: formats.md names every field of what programs read.
func TestFormats(t *testing.T) {
	text := read(t, "formats.md")
	var fields func(of reflect.Type)
	fields = func(of reflect.Type) {
		for i := range of.NumField() {
			f := of.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous:
				fields(f.Type)
			case name != "" && name != "-" && !strings.Contains(text, "`"+name+"`"):
				t.Errorf("formats.md does not name %s of %s", name, of)
			}
		}
	}
	for _, v := range []any{report.Snapshot{}, report.Seen{}, report.Peek{}, report.Alert{}} {
		fields(reflect.TypeOf(v))
	}
}
