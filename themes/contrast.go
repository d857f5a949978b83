package themes

import "math"

// Contrast is the contrast ratio of two colours as WCAG 2.2 has it, from 1 to 21.
func Contrast(a, b Ink) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(k Ink) float64 {
	r, g, b, _ := k.RGB()
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}

// linear undoes the gamma of sRGB.
func linear(v uint8) float64 {
	c := float64(v) / 255
	if c <= 0.04045 {
		return c / 12.92
	}
	return math.Pow((c+0.055)/1.055, 2.4)
}

// outstanding returns the first tone behind a colour on the way to another that stands out from a ground by 3 to 1 also where
// the terminal's own ground is a little different. The terminal's own colours are as they are.
func outstanding(from, to, ground Ink) Ink {
	for _, own := range [...]Ink{to, from} {
		if _, _, _, set := own.RGB(); !set {
			return own
		}
	}
	for _, tone := range ramp(41, from, to)[1:] {
		if Contrast(tone, ground) >= 3.2 {
			return tone
		}
	}
	return to
}
