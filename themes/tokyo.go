package themes

// tokyo is Tokyo Night: deep blue with clear accents.
var tokyo = Palette{
	Name: "tokyo-night", Dark: true,
	Text: "#c0caf5", Dim: "#919dca", Faint: "#454c70",
	Title: "#e2e8ff", Accent: "#7aa2f7",
	Border: "#3b4261", Selected: "#283457", Raised: "#24283b", Window: "#2f3749",
	Admitted: "#9ece6a", Denied: "#f7768e", Near: "#e0af68",
	Injected: "#bb9af7", Unknown: "#969dc1", Good: "#9ece6a",
	Previous: "#7dcfff", Current: "#9ece6a",
}
