package themes

// okabe uses the colours of Okabe and Ito, which people with any common colour blindness
// can tell apart: blue for admitted, vermilion for denied.
var okabe = Palette{
	Name: "colour-blind", Dark: true,
	Text: "#dfe3e8", Dim: "#98a2ad", Faint: "#4d5660",
	Title: "#f4f6f8", Accent: "#f0e442",
	Border: "#3c4650", Selected: "#1f2b3a", Raised: "#222a33", Window: "#383829",
	Admitted: "#56b4e9", Denied: "#e8731f", Near: "#f0e442",
	Injected: "#e08fc0", Unknown: "#8a939d", Good: "#1fb88b",
	Previous: "#4e98cd", Current: "#56b4e9",
}
