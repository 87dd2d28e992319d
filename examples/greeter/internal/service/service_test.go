package service_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/bowline-dev/bowline/examples/greeter/internal/service"
)

func TestServerAdmitsOnlyItsUser(t *testing.T) {
	t.Parallel()
	server, err := service.Start(0, service.Credentials{Username: "u", Password: service.NewSecret("right")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	url := "nats://" + net.JoinHostPort(server.Host(), strconv.Itoa(server.Port()))
	tests := []struct {
		name    string
		options []nats.Option
		want    error
	}{
		{name: "right", options: []nats.Option{nats.UserInfo("u", "right")}},
		{name: "none", want: nats.ErrAuthorization},
		{name: "wrong password", options: []nats.Option{nats.UserInfo("u", "wrong")}, want: nats.ErrAuthorization},
		{name: "wrong user", options: []nats.Option{nats.UserInfo("v", "right")}, want: nats.ErrAuthorization},
		{name: "empty password", options: []nats.Option{nats.UserInfo("u", "")}, want: nats.ErrAuthorization},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			conn, err := nats.Connect(url, append(tc.options, nats.NoReconnect())...)
			if !errors.Is(err, tc.want) {
				t.Errorf("connecting: %v, want %v", err, tc.want)
			}
			if conn != nil {
				conn.Close()
			}
		})
	}
}

func TestReadCredentials(t *testing.T) {
	t.Parallel()
	env := map[string]string{service.UsernameVariable: "env", service.PasswordVariable: "env-password"}
	files := t.TempDir()
	half := t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(files, "username"): "file\n", filepath.Join(files, "password"): "file-password\n",
		filepath.Join(half, "username"): "file",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name, dir      string
		env            map[string]string
		user, password string
		want           error
	}{
		{name: "environment", env: env, user: "env", password: "env-password"},
		{name: "files win and are trimmed", dir: files, env: env, user: "file", password: "file-password"},
		{name: "nothing", want: service.ErrNoCredentials},
		{name: "no password", env: map[string]string{service.UsernameVariable: "env"}, want: service.ErrNoCredentials},
		{name: "half the files", dir: half, env: env, want: os.ErrNotExist},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := service.ReadCredentials(tc.dir, func(name string) string { return tc.env[name] })
			if !errors.Is(err, tc.want) {
				t.Fatalf("error = %v, want %v", err, tc.want)
			}
			if got.Username != tc.user || got.Password.Reveal() != tc.password {
				t.Errorf("got user %q, want %q, or another password", got.Username, tc.user)
			}
		})
	}
}

func TestPasswordDoesNotPrint(t *testing.T) {
	t.Parallel()
	c := service.Credentials{Username: "u", Password: service.NewSecret("hunter2")}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		if text := fmt.Sprintf(verb, c); strings.Contains(text, "hunter2") || strings.Contains(text, "68756e74657232") {
			t.Errorf("%s prints the password", verb)
		}
	}
}
