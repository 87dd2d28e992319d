//go:build !linux

package main

import "syscall"

// attached does nothing where the control plane does not run either.
func attached() *syscall.SysProcAttr { return nil }
