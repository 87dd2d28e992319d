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
MODULES := . controlplane examples/greeter examples/reader tools
N ?= 500
FUZZTIME ?= 10s

.PHONY: help
help: ## Say what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

.PHONY: demo
demo: build example ## See a workload bound to a real service, and unbound again
	$(GO) run ./test/demo

.PHONY: test
test: build example ## Run all tests, with the race detector, against the real API server
	CGO_ENABLED=1 $(GO) test -race -timeout 20m ./...
	cd examples/greeter && CGO_ENABLED=1 $(GO) test -race -timeout 5m ./...
	cd examples/reader && CGO_ENABLED=1 $(GO) test -race -timeout 5m ./...
	cd controlplane && $(GO) test -timeout 20m ./...

.PHONY: lint
lint: ## Check the code's form
	$(TOOL) golangci-lint run --timeout 20m ./...
	cd examples/greeter && $(TOOL) golangci-lint run --timeout 20m ./...
	cd examples/reader && $(TOOL) golangci-lint run --timeout 20m ./...
	cd controlplane && $(TOOL) golangci-lint run --timeout 20m ./...

.PHONY: verify
verify: ## Check that generated files are current and modules tidy
	hack/verify.sh

.PHONY: bench
bench: build ## Measure N bindings (N=500) against the floor
	$(GO) run ./test/bench -n $(N)

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

.PHONY: example
example: ## Build bin/greeter, the demo's program
	cd examples/greeter && $(GO) build -ldflags "-s -w" -o $(BIN)/greeter .

.PHONY: generate
generate: ## Make generated files anew
	hack/generate.sh

.PHONY: tidy
tidy: ## Tidy all modules
	for module in $(MODULES); do (cd $$module && $(GO) mod tidy); done

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(BIN)
