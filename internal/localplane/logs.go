package localplane

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

const (
	bigLog    = 16 << 20
	tailBytes = 16 << 10
	tailLines = 12
	lineWidth = 400
)

// openLog opens a log for appending, after putting a big one aside. It returns where this run's part begins.
func openLog(path string) (file *os.File, begin int64, err error) {
	if info, err := os.Stat(path); err == nil && info.Size() > bigLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, 0, fmt.Errorf("putting a big log aside: %w", err)
		}
	}
	file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, privateFile)
	if err != nil {
		return nil, 0, fmt.Errorf("opening a log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, 0, fmt.Errorf("reading the size of a log: %w", err)
	}
	return file, info.Size(), nil
}

// tail returns the last lines of a log, none from before begin. It is for people: what cannot be read is left out.
func tail(path string, begin int64) []string {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	begin = max(begin, info.Size()-tailBytes)
	data, err := io.ReadAll(io.NewSectionReader(file, begin, info.Size()-begin))
	if err != nil {
		return nil
	}
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return nil
	}
	lines := strings.Split(string(data), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		if len(line) > lineWidth {
			lines[i] = line[:lineWidth] + " …"
		}
	}
	return lines
}
