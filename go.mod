module ratescope

go 1.26
