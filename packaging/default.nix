# Recipe for Nix: nix-build packaging
# Read for syntax alone: it was never built.
{ pkgs ? import <nixpkgs> { } }:

pkgs.stdenv.mkDerivation {
  pname = "heaptap";
  version = "0.1.0";
  src = pkgs.lib.cleanSource ../.;

  nativeBuildInputs = with pkgs; [ cmake ninja pkg-config scdoc ];
  buildInputs = with pkgs; [
    bearssl
    boost
    cli11
    elfutils
    fmt
    glibc.static
    libedit
    ncurses
    re2
    sqlite
    zlib
    zlib.static
    zstd
  ];

  cmakeFlags = [
    "-DHEAPTAP_TESTS=OFF"
    "-DHEAPTAP_MAN=ON"
  ];
  # The agent is preloaded into other programs: nothing is added to its code.
  hardeningDisable = [ "all" ];

  meta = {
    description = "Heap tracer and leak finder for C and C++ programs";
    license = pkgs.lib.licenses.mit;
    platforms = [ "x86_64-linux" ];
    mainProgram = "heaptap";
  };
}
