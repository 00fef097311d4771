/* Blanks behind the manifest, which JSON allows, until it is too long. */
__attribute__((section(".inlay.manifest"), used)) static const char kBlanks[(1 << 20) + 1] = {
    [0 ... 1 << 20] = ' '};
