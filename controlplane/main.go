// Command bowline-controlplane is Kubernetes in one binary: etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler, kubelet, kube-proxy and kubectl, compiled from the Go module proxy alone.
//
// It acts as the component named by its first argument, or, when called through a link, by the link's name, so that
// a folder of links named etcd, kube-apiserver and kubectl serves as the assets of controller-runtime's envtest.
// It refuses to be anything but those upstream programs: flags, output and exit codes are theirs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // request metrics of the components' own clients
	_ "k8s.io/component-base/metrics/prometheus/version"  // the metric kubernetes_build_info
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// components maps each component's name to its entry point, which takes the arguments with the name in front and
// returns the exit code.
var components = map[string]func(args []string) int{
	"etcd":                    runEtcd,
	"kube-apiserver":          func([]string) int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func([]string) int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
	"kube-scheduler":          func([]string) int { return cli.Run(scheduler.NewSchedulerCommand()) },
	"kubelet":                 func([]string) int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) },
	"kube-proxy":              func([]string) int { return cli.Run(proxy.NewProxyCommand()) },
	"kubectl":                 func([]string) int { return cli.Run(kubectl.NewDefaultKubectlCommand()) },
}

func main() {
	args, err := dispatch(os.Args)
	if err != nil {
		usage(os.Stderr, err)
		os.Exit(2)
	}
	os.Args = args // the upstream commands read it themselves
	os.Exit(components[args[0]](args))
}

// dispatch returns argv with the component's name as its first element, taken from the name the binary was called by
// or else from the first argument.
func dispatch(argv []string) ([]string, error) {
	if name := filepath.Base(argv[0]); components[name] != nil {
		return append([]string{name}, argv[1:]...), nil
	}
	if len(argv) < 2 {
		return nil, errors.New("no component named")
	}
	if components[argv[1]] == nil {
		return nil, fmt.Errorf("unknown component %q", argv[1])
	}
	return argv[1:], nil
}

// usage writes what went wrong and what can be run.
func usage(w io.Writer, err error) {
	names := make([]string, 0, len(components))
	for name := range components {
		names = append(names, name)
	}
	slices.Sort(names)
	_, _ = fmt.Fprintf(w, "bowline-controlplane: %v\nhint: bowline-controlplane %s [flags]\n", err, strings.Join(names, "|"))
}

// runEtcd runs etcd, which ends the process by itself when it fails.
func runEtcd(args []string) int {
	etcdmain.Main(args)
	return 0
}
