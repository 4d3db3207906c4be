module linerate.dev/lab/virtual

go 1.26.0

require gvisor.dev/gvisor v0.0.0-20260224225140-573d5e7127a8

require (
	github.com/google/btree v1.1.2 // indirect
	golang.org/x/exp v0.0.0-20231110203233-9a3e6036ecaa // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/time v0.12.0 // indirect
)
