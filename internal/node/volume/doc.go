// Package volume writes the files of one volume the way the kubelet does, so that a program that reads a volume in a pod
// reads this one too, and so that whoever reads while it is written sees all of the old files or all of the new ones:
//
//	password -> ..data/password
//	tls -> ..data/tls
//	..data -> ..2026_11_20_14_03_05.123456789
//	..2026_11_20_14_03_05.123456789/password
//	..2026_11_20_14_03_05.123456789/tls/ca.crt
//
// New files are written beside the old ones, then the link ..data is replaced by one rename. Whatever a write that was
// interrupted left behind, the next one mends. Nothing is ever written outside the directory, and a volume has one writer
// at a time. What is to be in the files, and whether there is room for them, is decided elsewhere.
package volume
