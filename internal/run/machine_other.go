//go:build !linux

package run

func memory() int64 { return 0 }

func disk() int64 { return 0 }
