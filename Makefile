# The front door. Everything is built by Meson, out of tree; BUILD names the folder.
BUILD ?= build
MESON_FLAGS ?= --buildtype=release

.PHONY: all demo test bench lint asan tsan fuzz coverage install clean

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

$(BUILD)/build.ninja:
	meson setup $(BUILD) $(MESON_FLAGS)

test: all
	meson test -C $(BUILD) --print-errorlogs

install: all
	meson install -C $(BUILD)

clean:
	rm -rf $(BUILD)
