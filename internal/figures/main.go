// Figures measures what docs/performance.md promises and prints it as one page of Markdown: the figures
// beside what is wanted of them, and the tables of the limiters beside other libraries. It builds all
// benchmarks before it runs the first of them. On a shared machine it waits for a calm moment before
// each, and says how much of the time the host took. It is what make bench runs, from the root of the
// module; what it is doing goes to stderr.
package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/internal/cores"
)

// run is benchmarks of one package that are measured together, and how many times. The page has the best
// value of each figure.
type run struct {
	dir, pkg, bench, times string
	rounds                 int
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

// build builds the benchmarks into a file.
func (r *run) build(file string) error {
	cmd := exec.Command("go", "test", "-c", "-o", file, r.pkg)
	cmd.Dir, cmd.Stderr = r.dir, os.Stderr
	return cmd.Run()
}

// measure runs the benchmarks that were built into a file, one round, and returns what they printed.
func (r *run) measure(file string) (string, error) {
	cmd := exec.Command(file, "-test.run", "^$", "-test.bench", r.bench, "-test.benchtime", r.times, "-test.timeout", "20m")
	cmd.Dir = filepath.Join(r.dir, r.pkg)
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
	dir, err := os.MkdirTemp("", "figures")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for i := range all {
		if err := all[i].build(binary(dir, i)); err != nil {
			return fmt.Errorf("%s cannot be built: %w", all[i].command(), err)
		}
	}
	var lines, tables, failed []string
	var measured, stolen time.Duration
	for i := range all {
		r := &all[i]
		var rounds []map[string]map[string]string
		for n := range max(r.rounds, 1) {
			settle()
			fmt.Fprintf(os.Stderr, "%s  %s\n", time.Since(begun).Round(time.Second), r.command())
			from, was := time.Now(), cores.Stolen()
			out, err := r.measure(binary(dir, i))
			measured, stolen = measured+time.Since(from), stolen+cores.Stolen()-was
			if err != nil {
				failed = append(failed, fmt.Sprintf("%s: %v\n%s", r.command(), err, out))
			}
			rounds = append(rounds, metrics(out))
			if n == 0 {
				tables = append(tables, printed(out)...)
			}
		}
		for _, f := range r.figures {
			value, known := f.best(rounds)
			if !known {
				failed = append(failed, fmt.Sprintf("%s does not tell %s: it tells %v", f.benchmark, f.unit, slices.Sorted(maps.Keys(rounds[0][f.benchmark]))))
				continue
			}
			lines = append(lines, fmt.Sprintf("| %s | %s %s | %s | %s |", f.what, value, f.unit, f.wanted, f.benchmark))
		}
	}
	fmt.Fprintf(w, "## Figures of %s\n\n", begun.Format(time.DateOnly))
	fmt.Fprintf(w, "`make bench` at %s, %s on %d cores, of whose time the host took %.0f %%; it took %s.\n\n",
		commit(), runtime.Version(), runtime.NumCPU(), 100*stolen.Seconds()/measured.Seconds()/float64(runtime.NumCPU()), time.Since(begun).Round(time.Second))
	fmt.Fprint(w, "| what | measured | wanted | benchmark |\n|---|---|---|---|\n", strings.Join(lines, "\n"), "\n\n")
	if len(tables) > 0 {
		fmt.Fprint(w, "```\n", strings.Join(tables, "\n"), "\n```\n\n")
	}
	for i := range all {
		fmt.Fprintf(w, "    %s", all[i].command())
		if n := all[i].rounds; n > 1 {
			fmt.Fprintf(w, "  # the best of %d rounds", n)
		}
		fmt.Fprintln(w)
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d benchmarks did not tell what they are asked for:\n%s", len(failed), strings.Join(failed, "\n"))
	}
	return nil
}

// binary returns the file of run i in a directory.
func binary(dir string, i int) string { return filepath.Join(dir, fmt.Sprintf("%d.test", i)) }

// What a calm moment is: the host has taken hardly anything for a while. It is not waited for without end.
const (
	calmSpan  = 5 * time.Second
	calmShare = 0.01
	calmAtEnd = 2 * time.Minute
)

// settle waits for a calm moment.
func settle() {
	for begun := time.Now(); time.Since(begun) < calmAtEnd; {
		was := cores.Stolen()
		time.Sleep(calmSpan)
		if float64(cores.Stolen()-was) <= calmShare*float64(calmSpan) {
			return
		}
	}
}

// best returns the best value of the figure in all rounds: the largest where the wanted one is a lower
// bound, else the smallest. known is false where no round told it.
func (f *figure) best(rounds []map[string]map[string]string) (value string, known bool) {
	for _, found := range rounds {
		v, err := strconv.ParseFloat(found[f.benchmark][f.unit], 64)
		if err != nil {
			continue
		}
		best, _ := strconv.ParseFloat(value, 64)
		better := v < best
		if strings.HasPrefix(f.wanted, "≥") {
			better = v > best
		}
		if !known || better {
			value, known = found[f.benchmark][f.unit], true
		}
	}
	return value, known
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
