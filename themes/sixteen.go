package themes

// sixteenDark and sixteenLight are for terminals with sixteen colours.
var (
	sixteenDark = Palette{
		Name: "terminal", Dark: true,
		Text: "7", Dim: "7", Faint: "8", Title: "15", Accent: "14", Border: "8",
		Admitted: "10", Denied: "9", Near: "11", Injected: "13", Unknown: "7", Good: "10",
		Previous: "14", Current: "10",
	}
	sixteenLight = Palette{
		Name: "terminal", Dark: false,
		Text: "0", Dim: "8", Faint: "7", Title: "0", Accent: "4", Border: "7",
		Admitted: "2", Denied: "1", Near: "3", Injected: "5", Unknown: "8", Good: "2",
		Previous: "6", Current: "2",
	}
)
