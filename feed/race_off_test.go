package feed_test

import ()

const raceEnabled = false
