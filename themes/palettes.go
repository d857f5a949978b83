package themes

// phosphor is the default on dark terminals: the green of an oscilloscope's trace,
// with warm colours kept for what needs a person.
var phosphor = Palette{
	Name: "phosphor", Dark: true,
	Text: "#d7dce2", Dim: "#8b949e", Faint: "#4a525c",
	Title: "#f0f3f6", Accent: "#6cb6ff",
	Border: "#39424d", Selected: "#1d2a3a", Raised: "#202833",
	Admitted: "#3fd08c", Denied: "#ff6370", Near: "#f2b143",
	Injected: "#c79bff", Unknown: "#89919a", Good: "#3fd08c",
	Window:   "#2c3848",
	Previous: "#4aa3c7", Current: "#3fd08c",
}

// paper is the default on light terminals: ink on paper, for projectors and daylight.
var paper = Palette{
	Name: "paper", Dark: false,
	Text: "#24292f", Dim: "#5b6470", Faint: "#a9b1ba",
	Title: "#0d1117", Accent: "#0b5fc0",
	Border: "#c3cad2", Selected: "#dcebfb", Raised: "#eaeef2",
	Admitted: "#117546", Denied: "#c4232f", Near: "#975600",
	Injected: "#7a35c9", Unknown: "#5f666f", Good: "#117546",
	Window:   "#c0cedd",
	Previous: "#1d6d8b", Current: "#117546",
}

// highContrast is for bright rooms and tired eyes: nothing on it is dim.
var highContrast = Palette{
	Name: "high-contrast", Dark: true,
	Text: "#ffffff", Dim: "#e0e0e0", Faint: "#a0a0a0",
	Title: "#ffffff", Accent: "#66d9ff",
	Border: "#b8b8b8", Selected: "#003a66", Raised: "#1c1c1c", Window: "#283943",
	Admitted: "#3dff8f", Denied: "#ff7878", Near: "#ffd400",
	Injected: "#e39cff", Unknown: "#c8c8c8", Good: "#3dff8f",
	Previous: "#66d9ff", Current: "#3dff8f",
}

// okabe uses the colours of Okabe and Ito, which people with any common colour blindness
// can tell apart: blue for admitted, vermilion for denied.
var okabe = Palette{
	Name: "colour-blind", Dark: true,
	Text: "#dfe3e8", Dim: "#98a2ad", Faint: "#4d5660",
	Title: "#f4f6f8", Accent: "#c3d4ff",
	Border: "#3c4650", Selected: "#1f2b3a", Raised: "#222a33", Window: "#383829",
	Admitted: "#56b4e9", Denied: "#e8731f", Near: "#f0e442",
	Injected: "#e08fc0", Unknown: "#8a939d", Good: "#1fb88b",
	Previous: "#4e98cd", Current: "#56b4e9",
}

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

// gruvbox is the palette of that name: warm and retro.
var gruvbox = Palette{
	Name: "gruvbox", Dark: true,
	Text: "#ebdbb2", Dim: "#afa18d", Faint: "#665c54",
	Title: "#fbf1c7", Accent: "#89aa9d",
	Border: "#504945", Selected: "#3c3836", Raised: "#32302f", Window: "#31383b",
	Admitted: "#b8bb26", Denied: "#fc7d6d", Near: "#fabd2f",
	Injected: "#d3a6c8", Unknown: "#aca195", Good: "#b8bb26",
	Previous: "#89aa9d", Current: "#8ec07c",
}

// dracula is the palette of that name: vivid on violet.
var dracula = Palette{
	Name: "dracula", Dark: true,
	Text: "#f8f8f2", Dim: "#a3adcc", Faint: "#565f7e",
	Title: "#ffffff", Accent: "#8be9fd",
	Border: "#4a5070", Selected: "#343746", Raised: "#2f3140", Window: "#2b3940",
	Admitted: "#50fa7b", Denied: "#ff7676", Near: "#ffb86c",
	Injected: "#d6acff", Unknown: "#97a0c0", Good: "#50fa7b",
	Previous: "#8be9fd", Current: "#50fa7b",
}

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

// mocha is the darkest Catppuccin: pastel on brown-blue.
var mocha = Palette{
	Name: "catppuccin", Dark: true,
	Text: "#cdd6f4", Dim: "#a0a8c8", Faint: "#52556b",
	Title: "#e6ebff", Accent: "#89b4fa",
	Border: "#45475a", Selected: "#313244", Raised: "#2a2b3d", Window: "#2f3746",
	Admitted: "#a6e3a1", Denied: "#f38ba8", Near: "#f9d38a",
	Injected: "#cba6f7", Unknown: "#969bb4", Good: "#a6e3a1",
	Previous: "#89dceb", Current: "#a6e3a1",
}

// solarized is the light one of Solarized, its greys darkened for legibility.
var solarized = Palette{
	Name: "solarized-light", Dark: false,
	Text: "#39474b", Dim: "#55676f", Faint: "#a5afae",
	Title: "#073642", Accent: "#1768a4",
	Border: "#c9c5b1", Selected: "#e9e2cb", Raised: "#eee8d5", Window: "#bfced7",
	Admitted: "#5c6b00", Denied: "#c02725", Near: "#825e00",
	Injected: "#575bb1", Unknown: "#5c6667", Good: "#5c6b00",
	Previous: "#186f69", Current: "#5c6b00",
}

// sixteenDark and sixteenLight are for terminals with sixteen colours. On white most terminals' own green, yellow and
// cyan cannot be read: there black is what is well, and magenta what is near its limit.
var (
	sixteenDark = Palette{
		Name: "terminal", Dark: true,
		Text: "7", Dim: "7", Faint: "8", Title: "15", Accent: "14", Border: "8",
		Admitted: "10", Denied: "9", Near: "11", Injected: "13", Unknown: "7", Good: "10",
		Previous: "14", Current: "10",
	}
	sixteenLight = Palette{
		Name: "terminal", Dark: false,
		Text: "0", Dim: "8", Faint: "8", Title: "0", Accent: "4", Border: "7",
		Admitted: "0", Denied: "1", Near: "5", Injected: "4", Unknown: "8", Good: "0",
		Previous: "4", Current: "0",
	}
)
