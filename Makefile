# Everything that people and CI run. `make help` lists the targets.
SHELL := /usr/bin/env bash -o pipefail
.SHELLFLAGS := -ec
.DEFAULT_GOAL := help
# Git refuses to read the version of a clone that another user owns. The rest is how the
# dev cluster builds its programs: tests and linters that build in the same way compile
# no package again. Only the race detector does, which needs cgo.
export GOFLAGS += -buildvcs=false -trimpath
export CGO_ENABLED := 0
MAKEFLAGS += --no-print-directory

# The modules that hold code of ours; those below hack/devcluster/components only
# build programs of others.
MODULES := . api test test/capi-e2e hack/devcluster hack/tools

CONTROLLER_GEN := $(CURDIR)/bin/tools/controller-gen
GOLANGCI_LINT := $(CURDIR)/bin/tools/golangci-lint
# A cache of this clone: golangci-lint repeats findings of other clones, with the
# paths they had there, from one that clones share.
export GOLANGCI_LINT_CACHE ?= $(CURDIR)/bin/cache/golangci-lint
DEVCLUSTER := go -C hack/devcluster run .
GO_TEST := $(CURDIR)/hack/gotest.sh

HEADER := $(CURDIR)/hack/boilerplate/boilerplate.go.txt
GENERATED := $(wildcard api/v1beta?/zz_generated.deepcopy.go api/*/*/zz_generated.deepcopy.go) config/crd/bases config/rbac/role.yaml \
	config/hostclaim/crd/bases config/hostclaim/rbac/role.yaml config/kubevirt/rbac/role.yaml test/kubevirt/crds \
	$(addprefix docs/reference/,conditions.md flags.md keys.md metrics.md) $(wildcard templates/cluster-template*.yaml)

# The race detector watches the modules with goroutines, except for the suites on servers.
RACE := CGO_ENABLED=1 $(GO_TEST) -race
UNIT_FLAGS ?= -shuffle=on
# The folder with etcd and kube-apiserver, built from source if KUBEBUILDER_ASSETS is not set.
ASSETS := $${KUBEBUILDER_ASSETS:-$$($(DEVCLUSTER) build etcd kube-apiserver)}
API_FLAGS ?= -shuffle=on -timeout 15m
# Which random schedules are played; empty draws one.
export SEED
BENCH ?= bind
SIZE ?= full
E2E_FLAGS ?= -count=1 -timeout 60m -v
# As in Cluster API: which of its specs are played, so many at a time, and where JUnit, logs and objects go.
GINKGO_FOCUS ?=
GINKGO_LABEL_FILTER ?=
GINKGO_NODES ?= 3
GINKGO_TIMEOUT ?= 2h
ARTIFACTS ?= $(CURDIR)/out/capi-e2e
# Packages of module test that need an API server. The benchmarks and e2e are not among them: they take longer than
# all others together.
API_TESTS := api conformance data hostclaim instances kubevirt machine model/served neighbours onboard plugin rbac remediation standalone tenant tools/hostclaim-conformance withoutlocalhosts
SERVED := /test/($(subst $(eval ) ,|,$(API_TESTS))|e2e|tools/bench)(/|$$)

# What docker-build calls the images and release names. IMAGE_DIGESTS are the digests to name
# them by: cluster-api-provider-metal3=sha256:… hostclaim-manager=sha256:… kubevirt-manager=sha256:…
IMAGE_PREFIX ?= localhost
IMAGE_TAG ?= dev
IMAGE_DIGESTS ?=
DOCKER ?= docker

# Where release writes, and as which version; metadata.yaml knows its series.
OUT ?= $(CURDIR)/out
RELEASE ?= v1.14.99
LDFLAGS := -X k8s.io/component-base/version.gitVersion=$(RELEASE)

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^## / {printf "\n%s\n", substr($$0, 4)} \
		/^[a-z0-9-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

## Build

.PHONY: build
build: build-managers ## Build the managers, the plugin of kubectl and hostsim into bin/
	go build -o bin/kubectl-metal3 ./cmd/kubectl-metal3
	go -C test build -o "$(CURDIR)/bin/hostsim" ./tools/hostsim

.PHONY: build-managers
build-managers:
	go build -ldflags "$(LDFLAGS)" -o bin/manager .
	go build -ldflags "$(LDFLAGS)" -o bin/hostclaim-manager ./cmd/hostclaim-manager
	go build -ldflags "$(LDFLAGS)" -o bin/kubevirt-manager ./cmd/kubevirt-manager

.PHONY: docker-build
docker-build: ## Build the images of the managers
	$(DOCKER) build --build-arg VERSION=$(IMAGE_TAG) --target manager -t $(IMAGE_PREFIX)/cluster-api-provider-metal3:$(IMAGE_TAG) .
	$(DOCKER) build --build-arg VERSION=$(IMAGE_TAG) --target hostclaim-manager -t $(IMAGE_PREFIX)/hostclaim-manager:$(IMAGE_TAG) .
	$(DOCKER) build --build-arg VERSION=$(IMAGE_TAG) --target kubevirt-manager -t $(IMAGE_PREFIX)/kubevirt-manager:$(IMAGE_TAG) .

# The layout of a repository of clusterctl: <OUT>/<provider>/<RELEASE>, the same bytes each time.
.PHONY: release
release: build-managers bin/tools/kustomize bin/tools/cyclonedx-gomod ## Write a release into OUT: a repository for clusterctl, with the plugin of kubectl
	DOCKER="$(DOCKER)" IMAGE_PREFIX="$(IMAGE_PREFIX)" IMAGE_TAG="$(IMAGE_TAG)" IMAGE_DIGESTS="$(IMAGE_DIGESTS)" hack/release.sh "$(OUT)" "$(RELEASE)"

.PHONY: release-notes
release-notes: ## Print the changes since the tag FROM
	@hack/release-notes.sh "$(or $(FROM),$(error FROM is the tag of the release before))" HEAD

.PHONY: kubectl-metal3
kubectl-metal3: ## Write the plugin of kubectl into OUT: an archive per platform and the manifest for krew
	hack/kubectl-metal3.sh "$(OUT)/kubectl-metal3/$(RELEASE)" "$(RELEASE)"

.PHONY: clean
clean: ## Remove what was built; the components of the dev cluster and the tools stay
	rm -rf out bin/manager bin/hostclaim-manager bin/kubevirt-manager bin/kubectl-metal3 bin/hostsim

## Dev cluster

.PHONY: demo
demo: ## Build what is needed, start a cluster, play the story of the README
	$(DEVCLUSTER) demo

.PHONY: demo-remote
demo-remote: ## The same with two clusters: hosts in one, a tenant in the other
	$(DEVCLUSTER) demo --remote

.PHONY: demo-hybrid
demo-hybrid: ## The same with one tenant: its control plane on virtual machines, its workers on servers
	$(DEVCLUSTER) demo --hybrid

.PHONY: demo-down
demo-down: dev-down ## Stop the demo

.PHONY: dev-up
dev-up: ## Start the dev cluster without the story
	$(DEVCLUSTER) up

.PHONY: dev-down
dev-down: ## Stop the dev cluster
	$(DEVCLUSTER) down

## Test

# Suites with an API server wait most of the time, so the others run beside them. What both
# need is built before. The output of each part appears when the part ends.
.PHONY: test
test: ## Run the tests that a change must pass before it is pushed
	$(DEVCLUSTER) build etcd kube-apiserver kubectl clusterctl cluster-api-operator ip-address-manager >/dev/null
	$(MAKE) -j2 --output-sync=target test-api test-code

# The same schedules each time, so that a change is judged by what it changes; test-long
# plays new ones.
.PHONY: test-code
test-code: test-unit
	$(MAKE) test-model SEED=$(or $(SEED),1)

.PHONY: test-unit
test-unit: ## Run the tests beside the code; a few start an API server for themselves
	assets=$(ASSETS); KUBEBUILDER_ASSETS=$$assets $(RACE) $(UNIT_FLAGS) ./...
	cd api && $(GO_TEST) $(UNIT_FLAGS) ./...
	cd hack/devcluster && $(RACE) $(UNIT_FLAGS) ./...
	cd test && $(RACE) $(UNIT_FLAGS) -timeout 30m $$(go list ./... | grep -vE '$(SERVED)')

# SCHEDULES, SEED, START, STEPS and WITHOUT (features, separated by commas) choose what
# is played.
.PHONY: test-model
test-model: ## Play random lives of claims and hosts against the hostclaim manager
	cd test && SCHEDULES=$(SCHEDULES) START=$(START) STEPS=$(STEPS) WITHOUT="$(WITHOUT)" \
		$(GO_TEST) -count=1 -timeout 60m -v -run TestSchedules ./model/

.PHONY: test-api
test-api: ## Run the stories of each controller against a real API server
	assets=$(ASSETS); \
	cd test && KUBEBUILDER_ASSETS=$$assets $(GO_TEST) $(API_FLAGS) $(API_TESTS:%=./%/...)

.PHONY: test-e2e
test-e2e: ## Play the stories on dev clusters of their own, each benchmark in small size, and the quick start of Cluster API
	$(DEVCLUSTER) build >/dev/null
	cd test && $(GO_TEST) $(E2E_FLAGS) ./e2e/...
	assets=$(ASSETS); cd test && KUBEBUILDER_ASSETS=$$assets $(GO_TEST) $(API_FLAGS) ./tools/bench/...
	$(MAKE) test-e2e-capi GINKGO_LABEL_FILTER=PR-Blocking

SPECS = cd test/capi-e2e && go tool ginkgo --vet=off -v --trace --focus='$(GINKGO_FOCUS)' --label-filter='$(GINKGO_LABEL_FILTER)' \
	--procs=$(GINKGO_NODES) --timeout=$(GINKGO_TIMEOUT) --output-dir='$(ARTIFACTS)' --junit-report=junit.e2e_suite.1.xml \
	. -- -e2e.artifacts-folder='$(ARTIFACTS)'

.PHONY: test-e2e-capi
test-e2e-capi: release ## Play Cluster API's own end-to-end specs on a dev cluster of their own
	$(DEVCLUSTER) build >/dev/null
	$(SPECS)

.PHONY: test-e2e-kind
test-e2e-kind: docker-build release ## Play them on a kind cluster; needs Docker and the releases of Cluster API
	$(SPECS) -e2e.kind

# They are parts of test-unit and test-api; here they print what each came to.
.PHONY: test-attacks
test-attacks: ## Run the attacks that once succeeded, with their figures
	assets=$(ASSETS); export KUBEBUILDER_ASSETS=$$assets; \
	$(GO_TEST) -count=1 -v -run '^TestAttack' $$(grep -rl --include='*_test.go' 'func TestAttack' baremetal config controllers | xargs -n1 dirname | sort -u | sed 's|^|./|'); \
	cd test && $(GO_TEST) -count=1 -timeout 30m -v -run '^TestAttack' $(API_TESTS:%=./%/...)

.PHONY: test-long
test-long: ## Run more schedules and moves than make test and test-e2e, all stories as with baremetal-operator 0.14, all specs of Cluster API, and each benchmark in medium size
	$(MAKE) test-model SCHEDULES=20000
	assets=$(ASSETS); export KUBEBUILDER_ASSETS=$$assets SCHEDULES=300; \
	OBJECTS=1000000 $(GO_TEST) -timeout 60m ./controllers/provider/conversion/; \
	$(GO_TEST) -timeout 60m ./controllers/provider/data/ ./controllers/provider/datatemplate/; \
	cd test && $(GO_TEST) -timeout 60m -run TestSchedules ./model/served/
	$(DEVCLUSTER) build >/dev/null
	cd test && E2E=long $(GO_TEST) $(E2E_FLAGS) -run 'TestFlavors|TestHostsMoveWithTheirCluster|TestMachinesLiveOn|TestClusterOfCAPM3ComesOver' ./e2e/...
	cd test && E2E_BMO=0.14 $(GO_TEST) $(E2E_FLAGS) ./e2e/...
	$(MAKE) test-e2e-capi
	for name in bind remote neighbours scale rollout; do $(MAKE) bench BENCH=$$name SIZE=medium; done

.PHONY: bench
bench: ## Measure what docs/benchmarks.md tells: BENCH=bind, remote, neighbours, scale or rollout, SIZE=full, medium or small, COMPARE=the JSON of an earlier run
	assets=$(ASSETS); cd test && KUBEBUILDER_ASSETS=$$assets go run ./tools/bench $(BENCH) --size=$(SIZE) $(if $(COMPARE),--compare=$(abspath $(COMPARE))) $(BENCH_FLAGS)

## Generate

# Where generate writes; verify-generate has a folder of its own.
INTO ?= $(CURDIR)
.PHONY: generate
generate: bin/tools/controller-gen bin/tools/kustomize ## Generate deepcopy functions, CRDs, RBAC roles, cluster templates and the reference pages of the docs
	@for version in v1beta1 v1beta2 hostclaim/v1alpha1; do \
		(cd api && $(CONTROLLER_GEN) object:headerFile=$(HEADER) paths=./$$version/ output:object:dir=$(INTO)/api/$$version); \
	done
	cd api && $(CONTROLLER_GEN) crd:crdVersions=v1 paths=./v1beta1/ paths=./v1beta2/ output:crd:dir=$(INTO)/config/crd/bases
	cd api && $(CONTROLLER_GEN) crd:crdVersions=v1 paths=./hostclaim/... output:crd:dir=$(INTO)/config/hostclaim/crd/bases
	$(CONTROLLER_GEN) rbac:roleName=manager-role paths=./controllers/provider/... \
		output:rbac:dir=$(INTO)/config/rbac
	$(CONTROLLER_GEN) rbac:roleName=manager-role paths=./controllers/hostclaim/... paths=./controllers/classes/... \
		output:rbac:dir=$(INTO)/config/hostclaim/rbac
	$(CONTROLLER_GEN) rbac:roleName=manager-role paths=./controllers/kubevirt/... paths=./controllers/classes/... \
		output:rbac:dir=$(INTO)/config/kubevirt/rbac
	hack/generate-kubevirt-crds.sh $(CONTROLLER_GEN) $(INTO)/test/kubevirt/crds
	hack/generate-templates.sh $(INTO)/templates
	go run ./hack/docs . $(INTO)/docs/reference

## Check

.PHONY: verify
verify: verify-boilerplate verify-generate verify-modules ## Check headers, generated files and module files

.PHONY: verify-boilerplate
verify-boilerplate: ## Check that every Go file starts with the license header
	hack/boilerplate/verify.sh

.PHONY: verify-generate
verify-generate: ## Check that the generated files are current, and change none
	@fresh=$$(mktemp -d); trap 'rm -rf "$$fresh"' EXIT; \
	$(MAKE) generate INTO=$$fresh; \
	for path in $(GENERATED); do \
		diff -r $$path $$fresh/$$path || stale="$$stale $$path"; \
	done; \
	if [[ -n $$stale ]]; then echo "stale:$$stale: run make generate and commit them" >&2; exit 1; fi

.PHONY: verify-modules
verify-modules: ## Check that go.mod and go.sum of every module are tidy
	@for module in $(MODULES); do \
		go -C $$module mod tidy -diff || { echo "run: go -C $$module mod tidy" >&2; exit 1; }; \
	done

.PHONY: verify-api
verify-api: bin/tools/crdify bin/tools/kustomize ## Check that the CRDs break nothing which the release in the folder PREVIOUS serves
	@hack/verify-api.sh "$(or $(PREVIOUS),$(error PREVIOUS is the folder of a release, as make release writes it))"

.PHONY: lint
lint: bin/tools/golangci-lint lint-api ## Check the code; MODULES=test PACKAGES=./hostclaim/... only that of these packages
	@for module in $(MODULES); do \
		echo "lint $$module"; (cd $$module && $(GOLANGCI_LINT) run --allow-parallel-runners --config $(CURDIR)/.golangci.yml $(PACKAGES)); \
	done

.PHONY: lint-fix
lint-fix: bin/tools/golangci-lint ## Correct what golangci-lint can correct by itself
	@for module in $(MODULES); do \
		echo "lint $$module"; (cd $$module && $(GOLANGCI_LINT) run --allow-parallel-runners --config $(CURDIR)/.golangci.yml --fix); \
	done

.PHONY: lint-api
lint-api: bin/tools/golangci-lint ## Check the API types against the conventions of Kubernetes
	cd api && $(GOLANGCI_LINT) run --allow-parallel-runners --config $(CURDIR)/.golangci-kal.yml ./v1beta2/ ./hostclaim/...

## Tools, built from the module hack/tools

bin/tools/controller-gen: hack/tools/go.sum
	go -C hack/tools build -o "$(CURDIR)/$@" sigs.k8s.io/controller-tools/cmd/controller-gen

bin/tools/kustomize: hack/tools/go.sum
	go -C hack/tools build -o "$(CURDIR)/$@" sigs.k8s.io/kustomize/kustomize/v5

bin/tools/crdify: hack/tools/go.sum
	go -C hack/tools build -o "$(CURDIR)/$@" sigs.k8s.io/crdify

bin/tools/cyclonedx-gomod: hack/tools/go.sum
	go -C hack/tools build -o "$(CURDIR)/$@" github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod

bin/tools/golangci-lint: hack/tools/go.sum hack/tools/golangci-lint/main.go
	go -C hack/tools build -o "$(CURDIR)/$@" ./golangci-lint
