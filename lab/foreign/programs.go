package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"linerate/lab/foreign/station"
)

const settle = 250 * time.Millisecond

// End is a station by the name of its TCP: kernel-CC, veth-CC (behind a router, with segmentation by the interface),
// any-CC (the same, captured on all interfaces), gvisor-CC.
func (r *Run) End(left bool, name string, sysctl ...string) (*station.End, error) {
	kind, congestion, _ := strings.Cut(name, "-")
	if kind == "gvisor" {
		return r.Netstack(left, station.NetstackOptions{Congestion: congestion})
	}
	o := station.HostOptions{Veth: kind != "kernel", AnyInterface: kind == "any", Sysctl: map[string]string{}}
	if congestion != "" {
		o.Sysctl["net.ipv4.tcp_congestion_control"] = congestion
	}
	for _, it := range sysctl {
		name, value, _ := strings.Cut(it, "=")
		o.Sysctl[name] = value
	}
	return r.Host(left, o)
}

// Ends are two stations by name.
func (r *Run) Ends(left, right string) (a, b *station.End, err error) {
	if a, err = r.End(true, left); err != nil {
		return nil, nil, err
	}
	b, err = r.End(false, right)
	return a, b, err
}

// Bulk sends octets from left to right with a program: the stock ones need two hosts.
func (r *Run) Bulk(left, right *station.End, program string, octets int) func() error {
	return func() error {
		wait := 35 * time.Second
		directory, err := r.Directory()
		if err != nil {
			return err
		}
		if program != "source" && program != "push" && program != "serve" && program != "serve-wget" {
			if err := file(directory, "data", octets); err != nil {
				return err
			}
		}
		var fetch []string
		url := fmt.Sprintf("http://%s:8080/data", left.Address)
		switch program {
		case "source":
			if _, err := left.Start("source", "listen=:5201", key("octets", octets)); err != nil {
				return err
			}
			time.Sleep(settle)
			j, err := right.Start("sink", "connect="+left.Address+":5201")
			if err != nil {
				return err
			}
			return j.Wait(wait)
		case "push":
			if _, err := right.Start("sink", "listen=:5201"); err != nil {
				return err
			}
			time.Sleep(settle)
			j, err := left.Start("source", "connect="+right.Address+":5201", key("octets", octets))
			if err != nil {
				return err
			}
			return j.Wait(wait)
		case "serve", "serve-wget":
			if _, err := left.Start("serve", "listen=:8080"); err != nil {
				return err
			}
			url = fmt.Sprintf("http://%s:8080/%d", left.Address, octets)
			fetch = []string{"curl", "-s", "-o", "/dev/null", url}
			if program == "serve-wget" {
				fetch = []string{"wget", "-q", "-O", "/dev/null", url}
			}
		case "python-curl":
			_, err = left.Exec("python3", "-m", "http.server", "-d", directory, "8080")
			fetch = []string{"curl", "-s", "-o", "/dev/null", url}
			time.Sleep(2 * settle)
		case "busybox-wget":
			_, err = left.Exec("busybox", "httpd", "-f", "-p", "8080", "-h", directory)
			fetch = []string{"wget", "-q", "-O", "/dev/null", url}
		case "nginx-curl":
			err = nginx(left, directory, "")
			fetch = []string{"curl", "-s", "-o", "/dev/null", url}
		case "rsync":
			text := fmt.Sprintf("reverse lookup = no\nuse chroot = no\nuid = root\ngid = root\npid file = %s/pid\n[m]\npath = %s\n", directory, directory)
			if err := os.WriteFile(directory+"/rsyncd.conf", []byte(text), 0o644); err != nil {
				return err
			}
			_, err = left.Exec("rsync", "--daemon", "--no-detach", "--config="+directory+"/rsyncd.conf", "--port=873")
			fetch = []string{"rsync", "-W", "rsync://" + left.Address + "/m/data", directory + "/copy"}
		case "nuttcp":
			_, err = left.Exec("nuttcp", "-S", "--nofork")
			fetch = []string{"nuttcp", "-r", "-n", fmt.Sprint(octets / 65536), "-l65536", left.Address}
		case "ftp":
			if err := os.MkdirAll("/tmp/foreign-ftp-empty", 0o555); err != nil {
				return err
			}
			text := "listen=YES\nlisten_ipv6=NO\nbackground=NO\nanonymous_enable=YES\nlocal_enable=NO\nseccomp_sandbox=NO\n" +
				"no_anon_password=YES\nsecure_chroot_dir=/tmp/foreign-ftp-empty\nanon_root=" + directory + "\n"
			if err := os.WriteFile(directory+"/vsftpd.conf", []byte(text), 0o600); err != nil {
				return err
			}
			if err := os.Chmod(directory, 0o755); err != nil {
				return err
			}
			_, err = left.Exec("vsftpd", directory+"/vsftpd.conf")
			fetch = []string{"curl", "-s", "-o", "/dev/null", "ftp://" + left.Address + "/data"}
		case "scp":
			if err := sshd(left, directory); err != nil {
				return err
			}
			time.Sleep(settle)
			fetch = append([]string{"scp", "-P", "2222"}, sshOptions(directory)...)
			fetch = append(fetch, "root@"+left.Address+":"+directory+"/data", "/dev/null")
		default:
			return fmt.Errorf("no program %q", program)
		}
		if err != nil {
			return err
		}
		time.Sleep(settle)
		j, err := right.Exec(fetch...)
		if err != nil {
			return err
		}
		if err := j.Wait(wait); err != nil {
			return fmt.Errorf("%v: %w: %s", fetch, err, j.Output.String())
		}
		return nil
	}
}

// nginx serves a folder at port 8080, with more lines for the location.
func nginx(e *station.End, directory, more string) error {
	text := fmt.Sprintf("daemon off; master_process off; error_log /dev/null; pid %s/nginx.pid; events {}\n"+
		"http { access_log off; sendfile on; client_body_temp_path %s; proxy_temp_path %s; fastcgi_temp_path %s;"+
		" uwsgi_temp_path %s; scgi_temp_path %s; server { listen 8080; root %s; location / { %s } } }\n",
		directory, directory, directory, directory, directory, directory, directory, more)
	if err := os.WriteFile(directory+"/nginx.conf", []byte(text), 0o644); err != nil {
		return err
	}
	if err := os.Chmod(directory, 0o755); err != nil {
		return err
	}
	_, err := e.Exec("nginx", "-c", directory+"/nginx.conf")
	time.Sleep(settle)
	return err
}

// sshd runs an OpenSSH server on port 2222 whose keys are in a folder.
func sshd(e *station.End, directory string) error {
	for _, name := range []string{"host", "user"} {
		if err := station.Run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", directory+"/"+name); err != nil {
			return err
		}
	}
	public, err := os.ReadFile(directory + "/user.pub")
	if err != nil {
		return err
	}
	if err := os.WriteFile(directory+"/authorized", public, 0o600); err != nil {
		return err
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		return err
	}
	_, err = e.Exec("/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-p", "2222", "-h", directory+"/host",
		"-o", "AuthorizedKeysFile="+directory+"/authorized", "-o", "StrictModes=no", "-o", "UsePAM=no",
		"-o", "PermitRootLogin=yes", "-o", "PidFile=none", "-o", "UseDNS=no",
		"-o", "Subsystem=sftp internal-sftp")
	return err
}

func sshOptions(directory string) []string {
	return []string{"-q", "-i", directory + "/user", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
		"-o", "BatchMode=yes"}
}
