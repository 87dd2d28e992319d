package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	headerSize = 4
	// mostBytes bounds a message. The kernel takes 6 MiB of arguments and environment at most.
	mostBytes = 32 << 20
)

// setup is what the second stage is told to make.
type setup struct {
	Namespace namespace
	Volumes   []Volume
	Mounts    []Mount
	Size      int64
	Parent    int
}

// launch is what it is told to become.
type launch struct {
	Argv, Env    []string
	Dir          string
	Credentials  credentials
	ReadOnlyRoot bool
}

// reply is what the second stage says.
type reply struct {
	// Problem is empty when all went well.
	Problem string
	// Advice says what to do about it, where that is known.
	Advice string
	// NotFound says that the program is the problem.
	NotFound bool
}

// line is the socket between the two stages, with a length before each message. Descriptors of folders travel on it.
type line struct{ socket *net.UnixConn }

// newLine returns both ends; the second is for the second stage to inherit.
func newLine() (*line, *os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making a socket for the second stage: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "line")
	ours, err := lineOn(pair[0])
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return ours, theirs, nil
}

func lineOn(fd int) (*line, error) {
	file := os.NewFile(uintptr(fd), "line")
	defer func() { _ = file.Close() }() // FileConn takes its own
	connection, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("taking the line to the other stage: %w", err)
	}
	socket, ok := connection.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(&StageError{Doing: "the line to the other stage is no socket"}, connection.Close())
	}
	return &line{socket: socket}, nil
}

func (l *line) close() error {
	if err := l.socket.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("closing the line to the second stage: %w", err)
	}
	return nil
}

// send writes a message, with descriptors if there are any.
func (l *line) send(message any, descriptors ...int) error {
	var text bytes.Buffer
	text.Write(make([]byte, headerSize))
	if err := gob.NewEncoder(&text).Encode(message); err != nil {
		return fmt.Errorf("writing to the other stage: %w", err)
	}
	whole := text.Bytes()
	if len(whole) > mostBytes {
		return &StageError{Doing: "the arguments and the environment are too large", Advice: tooLarge}
	}
	binary.BigEndian.PutUint32(whole, uint32(len(whole)-headerSize)) //nolint:gosec // bounded above
	var rights []byte
	if len(descriptors) > 0 {
		rights = unix.UnixRights(descriptors...)
	}
	sent, _, err := l.socket.WriteMsgUnix(whole, rights, nil)
	if err == nil && sent < len(whole) {
		_, err = l.socket.Write(whole[sent:])
	}
	if err != nil {
		return fmt.Errorf("writing to the other stage: %w", err)
	}
	return nil
}

// receive reads a message and the descriptors with it. io.EOF means that the other end is closed.
func (l *line) receive(message any) ([]int, error) {
	header, rights := make([]byte, headerSize), make([]byte, unix.CmsgSpace(4*(mostVolumes+1)))
	read, rightsRead, _, _, err := l.socket.ReadMsgUnix(header, rights)
	if err != nil {
		return nil, err
	}
	if read == 0 {
		return nil, io.EOF
	}
	descriptors, err := descriptorsIn(rights[:rightsRead])
	if err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(l.socket, header[read:]); err != nil {
		return descriptors, fmt.Errorf("reading from the other stage: %w", err)
	}
	length := binary.BigEndian.Uint32(header)
	if length > mostBytes {
		return descriptors, &StageError{Doing: "the other stage sends too much"}
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(l.socket, text); err != nil {
		return descriptors, fmt.Errorf("reading from the other stage: %w", err)
	}
	if err := gob.NewDecoder(bytes.NewReader(text)).Decode(message); err != nil {
		return descriptors, fmt.Errorf("reading from the other stage: %w", err)
	}
	return descriptors, nil
}

func descriptorsIn(rights []byte) ([]int, error) {
	if len(rights) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, fmt.Errorf("reading descriptors: %w", err)
	}
	var found []int
	for i := range messages {
		some, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return found, fmt.Errorf("reading descriptors: %w", err)
		}
		found = append(found, some...)
	}
	return found, nil
}

// prepare has the second stage make the file systems, and opens the folders of the volumes.
func (s *stage) prepare(ctx context.Context, wanted setup) (map[string]*os.Root, error) {
	stop := context.AfterFunc(ctx, func() { _ = s.line.socket.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := s.line.send(wanted); err != nil {
		return nil, err
	}
	var answer reply
	descriptors, err := s.line.receive(&answer)
	defer closeAll(descriptors)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("waiting for the second stage: %w", context.Cause(ctx))
	case err != nil:
		return nil, s.died("preparing", err)
	case answer.Problem != "":
		return nil, &StageError{Doing: answer.Problem, Advice: answer.Advice}
	}
	return openFolders(wanted.Volumes, descriptors)
}

// openFolders opens each volume: secrets lie in the first file system, each scratch volume is one of its own.
func openFolders(volumes []Volume, descriptors []int) (map[string]*os.Root, error) {
	folders, next := map[string]*os.Root{}, 1
	for _, v := range volumes {
		from, name := 0, v.Name
		if v.Scratch {
			from, name = next, "."
			next++
		}
		if from >= len(descriptors) {
			return folders, &StageError{Doing: "the second stage handed over too few folders"}
		}
		opened, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d/%s", descriptors[from], name))
		if err != nil {
			return folders, fmt.Errorf("opening volume %q: %w", v.Name, err)
		}
		folders[v.Name] = opened
	}
	return folders, nil
}

// launch has the second stage become the program. The line is closed by the execve that succeeds.
func (s *stage) launch(wanted launch) error {
	if err := s.line.send(wanted); err != nil {
		return s.died("starting", err)
	}
	var answer reply
	if _, err := s.line.receive(&answer); err != nil {
		return s.died("starting", err)
	}
	if answer.Problem == "" { // it is about to call execve
		_, err := s.line.receive(&answer)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return s.died("starting", err)
		}
	}
	if answer.NotFound {
		return &NotFoundError{Name: wanted.Argv[0], Problem: answer.Problem}
	}
	return &StageError{Doing: answer.Problem, Advice: answer.Advice}
}

// died tells how the second stage ended, if it did before it said anything.
func (s *stage) died(doing string, err error) error {
	if own, ok := errors.AsType[*StageError](err); ok {
		return own // it was this process that gave up
	}
	exit := Exit{}
	if errors.Join(s.end()) == nil {
		exit, _ = s.process.wait()
	}
	if exit.Signal != 0 {
		return &StageError{Doing: fmt.Sprintf("%s the program: the second stage was ended by signal %v", doing, exit.Signal)}
	}
	return &StageError{Doing: fmt.Sprintf("%s the program: the second stage ended (%v)", doing, err)}
}

func closeAll(descriptors []int) {
	for _, fd := range descriptors {
		_ = unix.Close(fd)
	}
}
