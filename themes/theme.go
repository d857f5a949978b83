package themes

// Palette is the data of a theme: "#rrggbb" for each meaning, "" for the terminal's
// own colour.
type Palette struct {
	Name string
	Dark bool

	Text, Dim, Faint string // body, secondary, decoration
	Title, Accent    string // headings and focus
	Border           string
	Selected         string // background of the selected row
	Raised           string // background of dialogs and buttons
	Window           string // background of what the sliding window covers

	Admitted, Denied, Near string // outcomes and closeness to the limit
	Injected, Unknown      string // fired from here; not known, stale, missing
	Previous, Current      string // the two windows
	Good                   string // healthy
}

// Theme is a palette made into styles, once.
type Theme struct {
	Name string
	Dark bool

	Text, Dim, Faint, Title, Accent, Border           Style
	Admitted, Denied, Near, Injected, Unknown, Good   Style
	Previous, Current                                 Style
	Selected, Raised, Window                          Ink
	DeniedWash                                        Ink // the tone of denied's hatching, as a background
	DeniedGround                                      Ink // background of a row that is denied
	Fine                                              Ink // bars of what is fine
	Coming, ComingDenied                              Ink // bars of what is to come, and where it will be denied
	Button, ButtonKey, BadgeLive, BadgeWarn, BadgeBad Style
	BadgeArmed                                        Style // firing is possible, or under way

	fill []Ink // utilization, 0 to 100 %
	glow []Ink // a figure without a limit, from the foot of its graph to the top
}

// Sixteen returns the theme of a terminal with sixteen colours: every meaning has one of its
// own, by its number, so that what a person has made readable stays readable. There are no
// grounds but of badges: marks and frames stand for them.
func Sixteen(dark bool) *Theme {
	p := sixteenLight
	if dark {
		p = sixteenDark
	}
	t := New(p)
	t.DeniedWash, t.DeniedGround = 0, 0
	return t
}

// New makes the styles of a palette.
func New(p Palette) *Theme {
	fg := func(hex string) Style { return Style{Fg: Hex(hex)} }
	ground := Hex("#10131a") // about where the terminal's own background is
	if !p.Dark {
		ground = Hex("#ffffff")
	}
	if _, own := Hex(p.Text).Index(); own {
		ground = Hex("0")
		if !p.Dark {
			ground = Hex("15")
		}
	}
	badge := func(hex string) Style { return Style{Fg: ground, Bg: Hex(hex), Attr: Bold} }
	if _, own := ground.Index(); own { // many terminals draw bold black as grey
		badge = func(hex string) Style { return Style{Fg: ground, Bg: Hex(hex)} }
	}
	fades := 2 // what is at ease, of five steps to the colour of what is not
	if !p.Dark {
		fades = 3
	}
	return &Theme{
		Name: p.Name, Dark: p.Dark,
		Text: fg(p.Text), Dim: fg(p.Dim), Faint: fg(p.Faint),
		Title: fg(p.Title).With(Bold), Accent: fg(p.Accent), Border: fg(p.Border),
		Admitted: fg(p.Admitted), Denied: fg(p.Denied), Near: fg(p.Near),
		Injected: fg(p.Injected), Unknown: fg(p.Unknown), Good: fg(p.Good),
		Previous: fg(p.Previous), Current: fg(p.Current),
		Selected: Hex(p.Selected), Raised: Hex(p.Raised), Window: Hex(p.Window),
		Button: fg(p.Text).On(Hex(p.Raised)), ButtonKey: fg(p.Accent).On(Hex(p.Raised)).With(Bold),
		BadgeLive: badge(p.Good), BadgeWarn: badge(p.Near), BadgeBad: badge(p.Denied),
		BadgeArmed:   badge(p.Injected),
		DeniedWash:   ramp(3, ground, Hex(p.Denied))[1],
		DeniedGround: ramp(8, ground, Hex(p.Denied))[1],
		Fine:         ramp(5, Hex(p.Faint), Hex(p.Admitted))[fades],
		Coming:       ramp(5, Hex(p.Faint), Hex(p.Dim))[3],
		ComingDenied: ramp(7, ground, Hex(p.Denied))[5],
		fill:         fillRamp(Hex(p.Admitted), Hex(p.Near), Hex(p.Denied)),
		glow:         ramp(101, Hex(p.Previous), Hex(p.Accent), Hex(p.Title)),
	}
}

// fillRamp stays calm up to 60 %, is at the colour of near when a key counts as near
// (80 %), and reaches denied at 100 %.
func fillRamp(fine, near, denied Ink) []Ink {
	out := make([]Ink, 0, 101)
	for range 60 {
		out = append(out, fine)
	}
	out = append(out, ramp(21, fine, near)...)
	return append(out, ramp(21, near, denied)[1:]...)
}

// Fill returns the style of a bar at a utilization of 0 to 1; beyond is clamped.
func (t *Theme) Fill(utilization float64) Style { return Style{Fg: t.fill[percent(utilization)]} }

// Glow returns the style of a graph's cell at a height of 0 to 1; beyond is clamped.
func (t *Theme) Glow(height float64) Style { return Style{Fg: t.glow[percent(height)]} }

// percent turns a share of 1 into 0 to 100; NaN is 0.
func percent(share float64) int {
	switch {
	case share >= 1:
		return 100
	case share > 0:
		return int(share * 100)
	}
	return 0
}
