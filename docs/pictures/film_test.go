package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

// mostBytes is what a picture of the README may weigh.
const mostBytes = 300 << 10

// TestTheFilmIsAlwaysTheSame draws it twice, and looks for what it is to show.
func TestTheFilmIsAlwaysTheSame(t *testing.T) {
	first, err := film()
	if err != nil {
		t.Fatal(err)
	}
	second, err := film()
	if err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Error("two runs draw two pictures")
	}
	if len(first) > mostBytes {
		t.Errorf("the picture has %d bytes, more than %d", len(first), mostBytes)
	}
	for _, text := range []string{watchedKey + "</text>", "sliding window counter", "previous", "denied", "@keyframes"} {
		if !strings.Contains(first, text) {
			t.Errorf("%q is not in the picture", text)
		}
	}
	if strings.Contains(first, "delay") {
		t.Error("rows of the picture go by clocks of their own: two of them are seen together for a moment")
	}
}

// TestThePicturesAreLight holds what is in the folder to the size that a README can bear.
func TestThePicturesAreLight(t *testing.T) {
	for _, file := range []string{filmFile, "dashboard.svg", "dashboard-light.svg", "grid.svg", "lab.svg", "small.svg"} {
		info, err := os.Stat("../" + file)
		if err != nil {
			t.Error(err)
			continue
		}
		if info.Size() > mostBytes {
			t.Errorf("%s has %d bytes, more than %d", file, info.Size(), mostBytes)
		}
	}
}
