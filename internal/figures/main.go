// Figures measures what docs/performance.md promises and prints it as one page of Markdown: the figures
// beside what is wanted of them, in one run, and the tables of the limiters beside other libraries.
// It is what make bench runs, from the root of the module; what it is doing goes to stderr.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// run is benchmarks of one package that are measured together.
type run struct {
	dir, pkg, bench, times string
	figures                []figure
}

// figure is one line of the page: a metric of a benchmark.
type figure struct {
	what, benchmark, unit, wanted string
}

// command is what a person types to measure a run again.
func (r *run) command() string {
	text := fmt.Sprintf("go test %s -run '^$' -bench '%s' -benchtime %s -timeout 20m", r.pkg, r.bench, r.times)
	if r.dir != "." {
		return "cd " + r.dir + " && " + text
	}
	return text
}

// measure runs the benchmarks and returns what they printed.
func (r *run) measure() (string, error) {
	cmd := exec.Command("go", "test", r.pkg, "-run", "^$", "-bench", r.bench, "-benchtime", r.times, "-timeout", "20m")
	cmd.Dir = r.dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	err := cmd.Run()
	return out.String(), err
}

func main() {
	if err := page(os.Stdout, runs()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// page measures all runs and writes the page to w. Benchmarks that fail leave their lines out, and are
// an error in the end.
func page(w io.Writer, all []run) error {
	begun := time.Now()
	var lines, tables, failed []string
	for i := range all {
		r := &all[i]
		fmt.Fprintf(os.Stderr, "%s  %s\n", time.Since(begun).Round(time.Second), r.command())
		out, err := r.measure()
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v\n%s", r.command(), err, out))
		}
		found := metrics(out)
		for _, f := range r.figures {
			value, known := found[f.benchmark][f.unit]
			lines = append(lines, fmt.Sprintf("| %s | %s %s | %s | %s |", f.what, value, f.unit, f.wanted, f.benchmark))
			if !known {
				failed = append(failed, fmt.Sprintf("%s does not tell %s: it tells %v", f.benchmark, f.unit, slices.Sorted(maps.Keys(found[f.benchmark]))))
				lines = lines[:len(lines)-1]
			}
		}
		tables = append(tables, printed(out)...)
	}
	fmt.Fprintf(w, "## Figures of %s\n\n", begun.Format(time.DateOnly))
	fmt.Fprintf(w, "`make bench` at %s, %s on %d cores, %s; it took %s.\n\n", commit(), runtime.Version(), runtime.NumCPU(), load(), time.Since(begun).Round(time.Second))
	fmt.Fprint(w, "| what | measured | wanted | benchmark |\n|---|---|---|---|\n", strings.Join(lines, "\n"), "\n\n")
	if len(tables) > 0 {
		fmt.Fprint(w, "```\n", strings.Join(tables, "\n"), "\n```\n\n")
	}
	for i := range all {
		fmt.Fprintf(w, "    %s\n", all[i].command())
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d benchmarks did not tell what they are asked for:\n%s", len(failed), strings.Join(failed, "\n"))
	}
	return nil
}

// metrics returns what benchmarks told, by their names without the number of processors and by unit.
func metrics(out string) map[string]map[string]string {
	all := map[string]map[string]string{}
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		name := strings.TrimSuffix(strings.TrimPrefix(words[0], "Benchmark"), fmt.Sprintf("-%d", runtime.GOMAXPROCS(0)))
		if all[name] == nil {
			all[name] = map[string]string{}
		}
		for i := 2; i+1 < len(words); i += 2 {
			all[name][words[i+1]] = words[i]
		}
	}
	return all
}

// printed returns the lines of tables that benchmarks print by themselves.
func printed(out string) (lines []string) {
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		word, _, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, "Benchmark"), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "    "):
		case slices.Contains([]string{"goos:", "goarch:", "pkg:", "cpu:", "PASS", "FAIL", "ok"}, strings.TrimSpace(word)), strings.HasPrefix(line, "ok"), strings.HasPrefix(line, "FAIL"):
		case line == "" && (len(lines) == 0 || lines[len(lines)-1] == ""):
		default:
			lines = append(lines, line)
		}
	}
	return lines
}

// commit returns what is measured.
func commit() string {
	out, err := exec.Command("git", "describe", "--tags", "--always", "--dirty").Output()
	if err != nil {
		return "an unknown commit"
	}
	return strings.TrimSpace(string(out))
}

// load says how busy the machine is, where it tells.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	_, rest, _ := strings.Cut(string(text), " ")
	five, _, _ := strings.Cut(rest, " ")
	return "with a load of " + cmp.Or(five, "an unknown size") + " in the last five minutes"
}
