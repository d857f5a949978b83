package record

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
)

// errBomb is the error of a file that grows out of proportion.
var errBomb = &Damage{"it uncompresses to far more than any recording does, so that the rest is left out"}

// errLine is of a line that is not JSON, not of the format, or too long.
var errLine = errors.New("a line is not what a recording says")

// lines reads the lines of a recording. The zero value is not ready, see linesOf.
type lines struct {
	in     *bufio.Reader
	buffer []byte
}

// linesOf returns the lines of what may be compressed.
func linesOf(r io.Reader) (*lines, error) {
	compressed := &position{r: r}
	b := bufio.NewReaderSize(compressed, 64<<10)
	if head, _ := b.Peek(len(gzipMagic)); string(head) != gzipMagic {
		return &lines{in: b}, nil
	}
	zip, err := gzip.NewReader(b)
	if err != nil {
		return nil, ErrNotRecording
	}
	return &lines{in: bufio.NewReaderSize(&growth{zip: zip, from: compressed}, 64<<10)}, nil
}

// next returns the next line without its end, which holds until the call after. A line
// that is longer than MaxLine is errLine and skipped; one that does not end is
// io.ErrUnexpectedEOF.
func (l *lines) next() ([]byte, error) {
	l.buffer = l.buffer[:0]
	long := false
	for {
		part, err := l.in.ReadSlice('\n')
		if len(l.buffer)+len(part) > MaxLine {
			long, l.buffer = true, l.buffer[:0]
		}
		if !long {
			l.buffer = append(l.buffer, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && (long || len(l.buffer) > 0):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		case long:
			return nil, errLine
		}
		return l.buffer[:len(l.buffer)-1], nil
	}
}

// position counts what is read.
type position struct {
	r io.Reader
	n int64
}

func (p *position) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.n += int64(n)
	return n, err
}

// growth is a decompressor that stops where a file grows out of proportion.
type growth struct {
	zip  io.Reader
	from *position
	n    int64
}

func (g *growth) Read(b []byte) (int, error) {
	if g.n > freeGrowth+maxGrowth*g.from.n {
		return 0, errBomb
	}
	n, err := g.zip.Read(b)
	g.n += int64(n)
	return n, err
}
