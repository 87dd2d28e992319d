package main

import "syscall"

// attached has a child killed when the thread that started it ends, and spares it the terminal's signals.
func attached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
