package themes

// nord is the palette of that name: cold, quiet, low contrast.
var nord = Palette{
	Name: "nord", Dark: true,
	Text: "#d8dee9", Dim: "#98a3b5", Faint: "#4c566a",
	Title: "#eceff4", Accent: "#88c0d0",
	Border: "#434c5e", Selected: "#2b3446", Raised: "#2e3440", Window: "#2e383f",
	Admitted: "#a3be8c", Denied: "#dd838c", Near: "#ebcb8b",
	Injected: "#c39bbb", Unknown: "#939daf", Good: "#a3be8c",
	Previous: "#81a1c1", Current: "#a3be8c",
}
