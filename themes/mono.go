package themes

// mono has no hue at all: shapes carry every meaning.
var mono = Palette{
	Name: "monochrome", Dark: true,
	Text: "#d8d8d8", Dim: "#9e9e9e", Faint: "#555555",
	Title: "#ffffff", Accent: "#ffffff",
	Border: "#505050", Selected: "#2c2c2c", Raised: "#262626", Window: "#35363c",
	Admitted: "#b4b4b4", Denied: "#ffffff", Near: "#e4e4e4",
	Injected: "#c8c8c8", Unknown: "#9e9e9e", Good: "#b4b4b4",
	Previous: "#9e9e9e", Current: "#b4b4b4",
}
