# For Nix: nix build, nix run . -- run matmul --machine titan, nix develop (a shell with what ./x build needs).
{
  description = "allot: PTX compiler, cycle-level GPU simulator, experiments on resource policies";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-25.05";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      each = f: nixpkgs.lib.genAttrs systems (system: f nixpkgs.legacyPackages.${system});
      # #define ALLOT_VERSION "0.1.0"
      defines = builtins.filter (line: builtins.isString line && builtins.substring 0 22 line == "#define ALLOT_VERSION ")
        (builtins.split "\n" (builtins.readFile ./include/allot/allot.h));
      version = builtins.head (builtins.match ".*\"(.*)\"" (builtins.head defines));
    in
    {
      packages = each (pkgs: {
        default = pkgs.stdenv.mkDerivation {
          pname = "allot";
          inherit version;
          src = self;
          nativeBuildInputs = with pkgs; [ cmake ninja pkg-config re2c makeWrapper ];
          buildInputs = with pkgs; [ libcyaml libyaml jansson elfutils lz4 zstd metis sqlite ];
          # gnuplot draws charts.
          postInstall = "wrapProgram $out/bin/allot --prefix PATH : ${pkgs.gnuplot}/bin";
          meta = {
            license = pkgs.lib.licenses.bsd3;
            mainProgram = "allot";
            platforms = systems;
          };
        };
      });
      devShells = each (pkgs: {
        default = pkgs.mkShell {
          inputsFrom = [ self.packages.${pkgs.stdenv.hostPlatform.system}.default ];
          packages = with pkgs; [ gnuplot cmocka glpk mpfr clang ];
        };
      });
    };
}
