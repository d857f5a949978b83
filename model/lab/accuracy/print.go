package accuracy

import (
	_ "embed" // of print.txt
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"ratescope/model/collect"
	"ratescope/model/format"
)

// barWidth is how wide the longest bar of a plot is.
const barWidth = 32

// Print writes the report for people: the table by load band, and the two plots. With
// ascii the bars are made of '#'. It writes nothing wider than 100 columns.
func Print(w io.Writer, r Report, ascii bool) error {
	if err := tables().Execute(w, r); err != nil {
		return err
	}
	_, err := io.WriteString(w, plots(r, ascii))
	return err
}

// Plots returns the lines below the table of Print: a heading, two lines a band in their order, then the law and the
// worst case.
func Plots(r Report, ascii bool) []string {
	return strings.Split(strings.TrimSuffix(plots(r, ascii), "\n"), "\n")
}

// Bar returns a function for Options.Progress that draws a bar on one line of a terminal,
// and wipes it away at the end.
func Bar(w io.Writer, ascii bool) func(done float64) {
	full, empty, last := "█", "░", -1
	if ascii {
		full, empty = "#", "."
	}
	return func(done float64) {
		n := int(done * barWidth)
		switch {
		case done >= 1:
			fmt.Fprintf(w, "\r%*s\r", barWidth+16, "")
		case n != last:
			fmt.Fprintf(w, "\rmeasuring %s%s %3.0f%%", strings.Repeat(full, n), strings.Repeat(empty, barWidth-n), 100*done)
		}
		last = n
	}
}

// PrintJSON writes the report for programs: one object.
func PrintJSON(w io.Writer, r Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Limit    int64 `json:"limit"`
		WindowMS int64 `json:"window_ms"`
		Report
	}{r.Limit.Count, r.Limit.Window.Milliseconds(), r})
}

//go:embed print.txt
var tableText string

// tables is the part of Print before the plots.
var tables = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{"row": row, "label": Band.label,
		"thousands": func(n reflect.Value) string { return format.Thousands(n.Int()) }}).Parse(tableText))
})

// row returns the line of one band.
func row(label string, b Band, differs bool) string {
	text := fmt.Sprintf("%10s%8s%10s", label, format.Thousands(int64(b.Sources)), format.Thousands(b.Requests))
	for i := range Roundings {
		o, unknown := b.By[i], b.Requests == 0
		columns := []float64{share(float64(o.WronglyAllowed), float64(b.Requests)), share(float64(o.WronglyDenied), float64(b.Requests))}
		if differs {
			columns = append(columns, share(b.By[i].Difference, b.Exact))
		}
		for _, v := range columns {
			value := collect.If(unknown, "–", percent(v))
			text += fmt.Sprintf("%8s", value)
		}
	}
	return text + "\n"
}

func (b Band) label() string {
	if b.To == 0 {
		return fmt.Sprintf("above %.0f%%", b.From*100)
	}
	return fmt.Sprintf("%.0f–%.0f%%", b.From*100, b.To*100)
}

// plots draws where decisions of the exact rounding are wrong, the measured difference for Poisson arrivals beside what
// theory says, and the worst case, each to a scale of its own.
func plots(r Report, ascii bool) string {
	eighths := collect.If(ascii, "    ####", " ▏▎▍▌▋▊▉")
	bar := func(v, most float64) string { // most fills it, in eighths of a column
		if !(v > 0) || !(most > 0) {
			return ""
		}
		fine := max(int(math.Round(v/most*barWidth*8)), 1)
		return strings.Repeat(collect.If(ascii, "#", "█"), fine/8) + strings.TrimSpace(string([]rune(eighths)[fine%8]))
	}
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	most := 0.0
	for i, b := range r.Bands {
		most = max(most, b.Wrong(1), r.Free.Bands[i].Wrong(1))
	}
	say("wrong decisions by load, exact rounding\n")
	for i, charged := range r.Bands {
		for denied, b := range []Band{r.Free.Bands[i], charged} {
			value := collect.If(b.Requests > 0, percent(b.Wrong(1)), "no requests")
			say("%12s %-7s %s %s\n", []string{b.label(), ""}[denied], []string{"free", "charged"}[denied], bar(b.Wrong(1), most), value)
		}
	}
	most = collect.Most(r.Poisson, func(x Point) float64 { return x.Measured })
	say("\nmean difference for Poisson arrivals that find n requests in the window; theory: 0.313/sqrt(n)\n")
	for _, x := range r.Poisson {
		say("%12s  %s %s, theory %s\n", fmt.Sprint("n = ", x.Mean), bar(x.Measured, most), percent(x.Measured), percent(x.Law))
	}
	say("\nthe most an adversary gets admitted in one true window\n")
	most = max(1, collect.Most(r.Worst, func(x Worst) float64 { return float64(x.Largest) }))
	for _, x := range r.Worst {
		say("%22s  %s %d of %d\n", x.What, bar(float64(x.Largest), most), x.Largest, x.Limit)
	}
	return b.String()
}

// percent writes a share with three significant digits or so.
func percent(v float64) string {
	digits := 2
	switch v *= 100; {
	case v == 0:
		digits = 0
	case v < 0.01:
		digits = 4
	case v < 1:
		digits = 3
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + "%"
}
