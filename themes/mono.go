package themes

// mono has no hue at all: shapes carry every meaning.
var mono = Palette{
	Name: "monochrome", Dark: true,
	Text: "#d8d8d8", Dim: "#9a9a9a", Faint: "#555555",
	Title: "#ffffff", Accent: "#ffffff",
	Border: "#505050", Selected: "#2c2c2c", Raised: "#262626", Window: "#1c1c1c",
	Admitted: "#b4b4b4", Denied: "#ffffff", Near: "#e4e4e4",
	Injected: "#c8c8c8", Unknown: "#7e7e7e", Good: "#b4b4b4",
	Previous: "#8c8c8c", Current: "#b4b4b4",
}
