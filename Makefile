# Bowline: everything is built from the Go module proxy; nothing needs to be installed but Go, make, gcc and git.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

export GOTOOLCHAIN := local
# One setting, and no flags that change what the compiler makes, so that build, lint and run share one build cache. Only the
# race detector needs cgo.
export CGO_ENABLED := 0
GO ?= go
BIN := $(CURDIR)/bin
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
KUBERNETES_VERSION := 1.36.3

TOOL := $(GO) tool -modfile=$(CURDIR)/tools/go.mod
COMPONENT_VERSION := k8s.io/component-base/version
CONTROLPLANE_LDFLAGS := -s -w \
	-X $(COMPONENT_VERSION).gitVersion=v$(KUBERNETES_VERSION) \
	-X $(COMPONENT_VERSION).gitMajor=$(word 1,$(subst ., ,$(KUBERNETES_VERSION))) \
	-X $(COMPONENT_VERSION).gitMinor=$(word 2,$(subst ., ,$(KUBERNETES_VERSION))) \
	-X $(COMPONENT_VERSION).gitTreeState=clean \
	-X $(COMPONENT_VERSION).gitCommit=bowline \
	-X $(COMPONENT_VERSION).buildDate=1970-01-01T00:00:00Z
MODULES := . controlplane controlplane/containerd controlplane/oci examples/greeter examples/reader tools
CNI_PLUGINS := github.com/containernetworking/plugins/plugins
N ?= 500
FUZZTIME ?= 10s

.PHONY: help
help: ## Say what can be made
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

.PHONY: demo
demo: build example ## See a workload bound to a real service, and unbound again
	$(GO) run ./test/demo

.PHONY: test
test: build example ## Run all tests, with the race detector, against the real API server
	CGO_ENABLED=1 $(GO) test -race -timeout 20m ./...
	cd examples/greeter && CGO_ENABLED=1 $(GO) test -race -timeout 5m ./...
	cd examples/reader && CGO_ENABLED=1 $(GO) test -race -timeout 5m ./...
	for module in controlplane controlplane/containerd controlplane/oci; do (cd $$module && $(GO) test -timeout 20m ./...); done

.PHONY: lint
lint: ## Check the code's form
	$(TOOL) golangci-lint run --timeout 20m ./...
	cd examples/greeter && $(TOOL) golangci-lint run --timeout 20m ./...
	cd examples/reader && $(TOOL) golangci-lint run --timeout 20m ./...
	for module in controlplane controlplane/containerd controlplane/oci; do \
		(cd $$module && $(TOOL) golangci-lint run --timeout 20m ./...); done

.PHONY: verify
verify: ## Check that generated files are current and modules tidy
	hack/verify.sh

.PHONY: bench
bench: build ## Measure N bindings (N=500) against the floor
	$(GO) run ./test/bench -n $(N)

.PHONY: bench-generation
bench-generation: build ## Measure how Secrets are made for a hundredth of N described services (N=10000)
	$(GO) run ./test/bench -generation -n $(if $(filter command line environment,$(origin N)),$(N),10000)

.PHONY: bench-fairness
bench-fairness: build ## Measure what a small tenant waits beside one of N bindings (N=10000)
	$(GO) run ./test/bench -fairness -n $(if $(filter command line environment,$(origin N)),$(N),10000)

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (10s)
	hack/fuzz.sh $(FUZZTIME)

.PHONY: build
build: $(BIN)/bowline-controlplane ## Build bin/bowline and the control plane
	$(GO) build -ldflags "-s -w -X github.com/bowline-dev/bowline/internal/cli.version=$(VERSION)" -o $(BIN)/bowline ./cmd/bowline

$(BIN)/bowline-controlplane: $(wildcard controlplane/*.go) controlplane/go.mod controlplane/go.sum
	@echo "building the control plane; the first time takes about five minutes on two cores"
	cd controlplane && $(GO) build -ldflags "$(CONTROLPLANE_LDFLAGS)" -o $@ .

.PHONY: node
node: build $(BIN)/node/containerd $(BIN)/node/runc ## Build bin/node, the programs that "bowline up --node" runs pods with

$(BIN)/node/containerd: $(wildcard controlplane/containerd/*/*.go) controlplane/containerd/go.mod controlplane/containerd/go.sum
	@echo "building containerd; the first time takes about two minutes on two cores"
	@mkdir -p $(@D)
	cd controlplane/containerd && $(GO) build -tags urfave_cli_no_docs -ldflags "-s -w" -o $(@D)/ ./bowline-images tool

# runc is the one program with C in it, and needs nothing but the compiler: bowline-runc does without its seccomp filters.
$(BIN)/node/runc: $(wildcard controlplane/oci/*/*.go) controlplane/oci/go.mod controlplane/oci/go.sum
	@mkdir -p $(@D)/cni
	cd controlplane/oci && $(GO) build -ldflags "-s -w" -o $(@D)/cni/ $(addprefix $(CNI_PLUGINS)/,main/bridge ipam/host-local)
	cd controlplane/oci && $(GO) build -ldflags "-s -w" -o $(@D)/ ./bowline-runc ./pause ./shell
	cd controlplane/oci && CGO_ENABLED=1 $(GO) build -ldflags "-s -w" -o $@ github.com/opencontainers/runc

.PHONY: e2e
e2e: node example ## Run pods on a real node, as root on Linux: everything, from first rollout to clean-up
	BOWLINE_E2E=1 $(GO) test -count=1 -timeout 20m -v ./test/e2e

.PHONY: example
example: ## Build bin/greeter, the demo's program, and bin/reader
	cd examples/greeter && $(GO) build -ldflags "-s -w" -o $(BIN)/greeter .
	cd examples/reader && $(GO) build -ldflags "-s -w" -o $(BIN)/reader .

.PHONY: generate
generate: ## Make generated files anew
	hack/generate.sh

.PHONY: tidy
tidy: ## Tidy all modules
	for module in $(MODULES); do (cd $$module && $(GO) mod tidy); done

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(BIN)
