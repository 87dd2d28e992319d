package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ticksPerSecond is in which unit Linux tells the time a process used; it is the same on every machine.
const ticksPerSecond = 100

var errProc = errors.New("it is not of the form that Linux gives it")

// cpuSeconds returns the time that a process spent on processors so far.
func cpuSeconds(pid int) (float64, error) {
	path := filepath.Join("/proc", strconv.Itoa(pid), "stat")
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("reading the time used by process %d: %w", pid, err)
	}
	seconds, err := parseStat(string(text))
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", path, err)
	}
	return seconds, nil
}

// parseStat reads a process's user and system time: fields 14 and 15, where field 2 is a name in parentheses that may
// hold anything.
func parseStat(text string) (float64, error) {
	const user, system = 14 - 3, 15 - 3 // counted from the field after the name
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) <= system {
		return 0, errProc
	}
	var ticks uint64
	for _, field := range []string{fields[user], fields[system]} {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return 0, errProc
		}
		ticks += n
	}
	return float64(ticks) / ticksPerSecond, nil
}

// machineSeconds returns the time that the machine's processors were busy so far, with whatever.
func machineSeconds() (float64, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("reading the time used on this machine: %w", err)
	}
	seconds, err := parseMachine(string(text))
	if err != nil {
		return 0, fmt.Errorf("reading /proc/stat: %w", err)
	}
	return seconds, nil
}

// parseMachine sums up the first line: user, nice and system time, then idle time and time spent waiting, which do not
// count, then interrupts.
func parseMachine(text string) (float64, error) {
	first, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(first)
	const idle, waiting, last = 4, 5, 7
	if len(fields) <= last || fields[0] != "cpu" {
		return 0, errProc
	}
	var ticks uint64
	for i, field := range fields[1 : last+1] {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return 0, errProc
		}
		if place := i + 1; place != idle && place != waiting {
			ticks += n
		}
	}
	return float64(ticks) / ticksPerSecond, nil
}

// peakMemory returns the most resident memory that a process had so far, in MiB.
func peakMemory(pid int) (float64, error) {
	path := filepath.Join("/proc", strconv.Itoa(pid), "status")
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("reading the memory used by process %d: %w", pid, err)
	}
	peak, err := parsePeak(string(text))
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", path, err)
	}
	return peak, nil
}

func parsePeak(text string) (float64, error) {
	for line := range strings.Lines(text) {
		value, found := strings.CutPrefix(line, "VmHWM:")
		if !found {
			continue
		}
		kib, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		if err != nil {
			return 0, errProc
		}
		return rounded(float64(kib) / (1 << 10)), nil
	}
	return 0, errProc
}
