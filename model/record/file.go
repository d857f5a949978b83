package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// File is a recording in a file, with the places from which it can be read. Make one with
// Open. Several goroutines may read it, each by readers of its own.
type File struct {
	Header     Header
	Begin, End limiter.Instant // moments of the first batch and of the latest
	Batches    int
	Damage     *Damage       // why it ends too soon; nil when it was finished
	Offset     time.Duration // of the server's clock from the recorder's, at the end
	LeftOut    int           // lines in the middle that cannot be read; what was seen from there to the next frame is left out

	under  io.ReaderAt
	headed bool // Header was read
	clock  clock
	frames []frame
}

// frame is a place to begin to read at.
type frame struct {
	at     limiter.Instant // moment of the first batch after it
	offset int64           // in the file
}

// errFinished ends the scan of a recording that has its last line.
var errFinished = errors.New("finished")

// Open finds its way through a recording: it reads all of it once, without taking the
// readings apart, until ctx ends. The error is as for NewReader; a recording without a
// single batch is one too.
func Open(ctx context.Context, r io.ReaderAt) (*File, error) {
	f := &File{under: r}
	counted := &position{r: from(r, 0)}
	in := bufio.NewReaderSize(counted, 256<<10)
	at := func() int64 { return counted.n - int64(in.Buffered()) }
	var err error
	if head, _ := in.Peek(len(gzipMagic)); string(head) == gzipMagic {
		err = f.scanMembers(ctx, in, counted, at)
	} else {
		err = f.scan(ctx, &lines{in: in}, at)
	}
	switch {
	case err == errFinished:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !f.headed:
		return nil, err
	default:
		f.Damage = damage(err)
	}
	if f.Batches == 0 {
		return nil, errors.New("the recording was cut off before anything was seen: there is nothing to show")
	}
	return f, nil
}

// scanMembers looks through the members of a compressed file. From what can give single
// bytes, gzip reads none beyond the end of a member.
func (f *File) scanMembers(ctx context.Context, in *bufio.Reader, counted *position, at func() int64) error {
	zip := new(gzip.Reader)
	grown := &growth{zip: zip, from: counted}
	for first := true; ; first = false {
		offset := at()
		if _, err := in.Peek(1); err != nil {
			return err
		}
		if err := zip.Reset(in); err != nil {
			if first {
				return ErrNotRecording
			}
			return err
		}
		zip.Multistream(false)
		err := f.scan(ctx, &lines{in: bufio.NewReaderSize(grown, 256<<10)}, func() int64 { return offset })
		if err != io.EOF {
			return err
		}
	}
}

// scan looks at lines for what tells the way, and says why there are no more; io.EOF is
// the end of in. at says where the line that comes next begins.
func (f *File) scan(ctx context.Context, in *lines, at func() int64) error {
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		offset := at()
		text, err := in.next()
		if !f.headed {
			if err != nil {
				return ErrNotRecording
			}
			if f.Header, err = headerOf(text); err != nil {
				return err
			}
			f.headed = true
			continue
		}
		switch {
		case err == errLine, err == nil && bytes.ContainsFunc(text, func(r rune) bool { return r < ' ' }):
			f.LeftOut++
		case err != nil:
			return err
		case bytes.HasPrefix(text, []byte(`{"b":`)), bytes.HasPrefix(text, []byte(`{"held":`)):
			var l line
			switch bad := json.Unmarshal(text, &l) != nil || len(f.frames) == 0; {
			case bad, l.Batch == nil && l.Held == nil:
				f.LeftOut++
			case l.Batch != nil:
				f.closed(l.Batch)
			case f.Batches == 0: // where nothing was read before, where everything stood is a batch
				f.closed(l.Held)
			default: // the frame says where everything stood when it began
				f.frames[len(f.frames)-1].at = f.clock.at
			}
		case bytes.HasPrefix(text, []byte(`{"anew":`)):
			f.begin(offset)
		case bytes.HasPrefix(text, []byte(`{"end":`)):
			return errFinished
		}
	}
}

// unset is the instant of a frame whose first batch has not come.
const unset = limiter.Instant(-1 << 63)

// begin notes a frame. One without a batch is no place to begin at, and of too many every
// second one is dropped.
func (f *File) begin(offset int64) {
	if n := len(f.frames); n > 0 && f.frames[n-1].at == unset {
		f.frames = f.frames[:n-1]
	}
	if len(f.frames) >= maxFrames {
		n := 0
		f.frames = slices.DeleteFunc(f.frames, func(frame) bool { n++; return n%2 == 0 })
	}
	f.frames = append(f.frames, frame{unset, offset})
}

func (f *File) closed(b *batch) {
	at := f.clock.moment(b)
	if last := &f.frames[len(f.frames)-1]; last.at == unset {
		last.at = at
	}
	if f.Batches == 0 {
		f.Begin, f.End = at, at
	}
	f.End = max(f.End, at)
	f.Offset = time.Duration(b.Offset)
	f.Batches++
}

// FrameBefore returns the number of the last frame that begins at or before a moment, or
// 0. Frames are numbered from 0.
func (f *File) FrameBefore(moment limiter.Instant) int {
	for i := len(f.frames) - 1; i > 0; i-- {
		if at := f.frames[i].at; at != unset && at <= moment {
			return i
		}
	}
	return 0
}

// From returns a reader of the batches after the beginning of a frame.
func (f *File) From(i int) (*Reader, error) { return f.reader(i, i == 0) }

// FromState returns a reader whose first batch says where everything stood when a frame began:
// the latest reading of every key, with no arrivals. What was recorded by a program that did
// not write that down is read as by From.
func (f *File) FromState(i int) (*Reader, error) { return f.reader(i, true) }

func (f *File) reader(i int, held bool) (*Reader, error) {
	in, err := linesOf(from(f.under, f.frames[i].offset))
	if err != nil {
		return nil, err
	}
	at := f.frames[i].at
	return &Reader{lines: in, header: f.Header, keys: map[int]*known{}, frame: i - 1, clock: clock{at: at}, held: held,
		latest: told{moment: at, place: Place{Frame: i - 1}}}, nil
}

func from(r io.ReaderAt, offset int64) io.Reader {
	return io.NewSectionReader(r, offset, math.MaxInt64-offset)
}

// clock says when a batch was seen. While the server is away it tells the last time it
// knew, so the recorder's own clock says how long that went on.
type clock struct {
	at    limiter.Instant
	local int64
}

func (c *clock) moment(b *batch) limiter.Instant {
	switch passed := (b.Local - c.local) / 1000; {
	case model.Link(b.Link) == model.Live:
		c.at = b.At
	case c.local != 0 && b.Local != 0 && passed > 0 && passed < int64(maxAway/time.Microsecond):
		c.at += limiter.Instant(passed)
	case c.at == 0:
		c.at = b.At
	}
	c.local = b.Local
	return c.at
}

// maxAway is the longest time between two batches that counts as time, not as a clock
// that was set.
const maxAway = time.Hour

// errBomb is the error of a file that grows out of proportion.
var errBomb = &Damage{"it uncompresses to far more than any recording does, so that the rest is left out"}

// errLine is of a line that is not JSON, not of the format, or too long.
var errLine = errors.New("a line is not what a recording says")

// lines reads the lines of a recording. The zero value is not ready, see linesOf.
type lines struct {
	in     *bufio.Reader
	buffer []byte
}

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
