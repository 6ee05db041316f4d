"""Applications of Debian, and what each is to do: small work of its own kind that ends by itself and says the same each time."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Application:
    name: str
    packages: str  # of Debian; blanks between
    command: str   # for bash, in an empty directory with the inputs below
    says_the_same: bool = True  # what it writes to its standard output
    makes: str = ""            # a file that is to be the same each time, too


# Files that the commands find: text.txt, data.csv, page.xml, picture.ppm, sound.raw, program.c, program.cc, Program.java, Small.hs,
# page.html.
CATALOGUE = [Application(*fields) for fields in (
    ("awk", "gawk", "exec gawk '{ n[$1] += NF } END { for (k in n) s += n[k]; print s }' text.txt"),
    ("bash", "bash", "exec bash -c 'for i in {1..2000}; do a[$i]=$((i * i)); done; echo ${#a[@]} ${a[7]}'"),
    ("bc", "bc", "exec bc -q <<< 'scale=300; 4*a(1)'"),
    ("bison", "bison", "printf '%%%%\\nx: %%empty | x \"a\";\\n' > g.y; exec bison -o g.c g.y", True, "g.c"),
    ("bzip2", "bzip2", "exec bzip2 -kc text.txt"),
    ("chromium", "chromium", "exec chromium --headless --no-sandbox --disable-gpu --user-data-dir=$PWD/u --screenshot=$PWD/page.png file://$PWD/page.html",
     True, "page.png"),
    ("clang", "clang", "exec clang++ -O1 -c program.cc -o p.o", True, "p.o"),
    ("cmake", "cmake", "exec cmake -E tar cf x.tar text.txt data.csv"),
    ("curl", "curl", "exec curl -s file://$PWD/text.txt"),
    ("diff", "diffutils", "sort text.txt > s.txt; diff text.txt s.txt | tail -n 5; exec cmp text.txt text.txt"),
    ("dot", "graphviz", "exec dot -Tsvg <<< 'digraph { a -> b -> c -> a; b -> d; d -> { e f g } }'"),
    ("emacs", "emacs-nox", "exec emacs --batch -Q --eval '(princ (length (make-list 100000 1)))'"),
    ("exiftool", "libimage-exiftool-perl", "exec exiftool -ImageSize picture.ppm"),
    ("ffmpeg", "ffmpeg", "exec ffmpeg -v error -f s16le -ar 8000 -ac 1 -i sound.raw -f md5 -"),
    ("file", "file", "exec file text.txt data.csv page.xml picture.ppm program.c"),
    ("find", "findutils", "exec find . -name '*.c*' -newer /etc/passwd"),
    ("firefox", "firefox-esr", "export HOME=$PWD; mkdir p; exec firefox-esr --headless --no-remote --profile $PWD/p --screenshot $PWD/page.png file://$PWD/page.html",
     True, "page.png"),
    ("g++", "g++", "exec g++ -O1 -c program.cc -o p.o", True, "p.o"),
    ("gdb", "gdb", "exec gdb -nx -batch -ex 'print 6 * 7' -ex 'ptype int' /bin/true"),
    ("ghc", "ghc", "exec ghc -v0 -O0 -c Small.hs", True, "Small.o"),
    ("ghostscript", "ghostscript", "exec gs -q -dNOPAUSE -dBATCH -sDEVICE=bbox -c '100 100 moveto 200 300 lineto stroke showpage'"),
    ("gimp", "gimp", "export HOME=$PWD; exec gimp-console -i -d -f -b '(let* ((image (car (gimp-file-load RUN-NONINTERACTIVE \"picture.ppm\" \"picture.ppm\")))) "
     "(gimp-image-scale image 32 32) (file-ppm-save RUN-NONINTERACTIVE image (car (gimp-image-get-active-drawable image)) \"small.ppm\" \"small.ppm\" FALSE))' "
     "-b '(gimp-quit 0)'", True, "small.ppm"),
    ("git", "git", "git init -q r; cd r; cp ../text.txt .; git add .; git -c user.name=a -c user.email=b commit -qm c; exec git diff --stat HEAD"),
    ("gnuplot", "gnuplot-nox", "exec gnuplot -e \"set term dumb; plot sin(x)\""),
    ("gpg", "gpg", "export GNUPGHOME=$PWD/g; mkdir -m 700 g; exec gpg --batch --print-md sha256 text.txt"),
    ("grep", "grep", "exec grep -c -E '(a|b)+c?d' text.txt"),
    ("groff", "groff-base", "exec groff -Tascii -ms <<< $'.TL\\nTitle\\n.PP\\nText of a page.'"),
    ("guile", "guile-3.0", "exec guile -q --no-auto-compile -c '(display (length (iota 10000)))'"),
    ("gzip", "gzip", "exec gzip -nc text.txt"),
    ("imagemagick", "imagemagick", "exec convert picture.ppm -resize 50% -rotate 30 -format '%w %h' info:-"),
    ("java", "default-jdk-headless", "exec java Program.java"),
    ("jq", "jq", "exec jq -n '[range(2000)] | map({a: ., b: (. * .)}) | length'"),
    ("ld", "binutils", "gcc -c program.c; exec ld -r program.o -o r.o", True, "r.o"),
    ("less", "less", "exec less -E text.txt"),
    # The first start in a directory of its own makes that directory's files, and no more.
    ("libreoffice", "libreoffice-calc-nogui", "L=\"/usr/lib/libreoffice/program/soffice.bin -env:UserInstallation=file://$PWD/u --headless\"; "
     "$L --terminate_after_init; exec $L --convert-to csv --outdir o data.csv", False, "o/data.csv"),
    ("lua", "lua5.4", "exec lua5.4 -e 't = {} for i = 1, 1e5 do t[i] = {i} end print(#t)'"),
    ("luajit", "luajit", "exec luajit -e 't = {} for i = 1, 1e5 do t[i] = {i} end print(#t)'"),
    ("make", "make", "printf 'all: a b\\na b:\\n\\t@echo $@\\n' > Makefile; exec make -s"),
    ("nasm", "nasm", "echo 'mov rax, 1' > a.asm; exec nasm -f elf64 a.asm -o a.o", True, "a.o"),
    ("ninja", "ninja-build", "printf 'rule c\\n command = cp $in $out\\nbuild o: c text.txt\\n' > build.ninja; exec ninja"),
    ("node", "nodejs", "exec node -e 'const a = []; for (let i = 0; i < 1e5; i++) a.push({i}); console.log(a.length)'"),
    ("objdump", "binutils", "exec objdump -d --no-show-raw-insn /bin/true"),
    ("ocaml", "ocaml-nox", "exec ocaml -stdin <<< 'print_int (List.length (List.init 10000 (fun i -> i)))'"),
    ("octave", "octave", "exec octave-cli -qf --eval 'disp(sum(inv(magic(4) + eye(4))(:)) > 0)'"),
    ("openssl", "openssl", "exec openssl enc -aes-256-cbc -pbkdf2 -S 0011223344556677 -k x -in text.txt -a"),
    ("pandoc", "pandoc", "exec pandoc -f markdown -t html <<< '# Title'"),
    ("pdftotext", "poppler-utils", "gs -q -sDEVICE=pdfwrite -o a.pdf -c '/Courier 20 selectfont 50 500 moveto (text) show showpage'; exec pdftotext a.pdf -"),
    ("perl", "perl", "exec perl -e 'my %h; $h{$_} = [$_] for 1 .. 50000; print scalar(keys %h), \"\\n\"'"),
    ("php", "php-cli", "exec php -n -r '$a = []; for ($i = 0; $i < 50000; $i++) $a[] = [$i]; echo count($a);'"),
    ("python3", "python3", "exec python3 -c 'import json; print(len(json.dumps([{\"a\": i} for i in range(20000)])))'"),
    ("qemu", "qemu-system-x86", "exec qemu-system-x86_64 -nodefaults -display none -m 64 -accel tcg -monitor stdio < <(sleep 2; echo info status; echo quit)"),
    ("qemu-img", "qemu-utils", "exec qemu-img convert -f raw -O qcow2 text.txt text.qcow2", True, "text.qcow2"),
    ("qpdf", "qpdf", "gs -q -sDEVICE=pdfwrite -o a.pdf -c 'showpage'; exec qpdf --show-npages a.pdf"),
    ("r", "r-base-core", "exec R --vanilla --slave -e 'cat(sum(solve(diag(50) + 1)) > 0)'"),
    ("readelf", "binutils", "readelf -aW /bin/true | md5sum"),
    ("rsync", "rsync", "exec rsync -a --stats text.txt copy.txt", False, "copy.txt"),
    ("ruby", "ruby", "exec ruby -e 'a = (1..50000).map { |i| [i] }; puts a.size'"),
    ("sbcl", "sbcl", "exec sbcl --noinform --no-userinit --eval '(progn (print (length (make-list 10000))) (exit))'"),
    ("sed", "sed", "exec sed -E 's/([a-z]+) ([a-z]+)/\\2 \\1/g' text.txt"),
    ("sort", "coreutils", "exec sort -u --parallel=2 text.txt"),
    ("sox", "sox", "exec sox -D -r 8000 -e signed -b 16 -c 1 sound.raw -t raw - speed 1.5"),
    ("sqlite3", "sqlite3", "exec sqlite3 :memory: 'create table t(a,b); with recursive n(i) as (select 1 union all select i+1 from n where i<20000) insert into t select i, hex(i) from n; create index x on t(b); select count(*), sum(length(b)) from t;'"),
    ("ssh-keygen", "openssh-client", "exec ssh-keygen -q -t ed25519 -N '' -f key"),
    ("tar", "tar", "exec tar --sort=name --mtime=@0 -cf - text.txt data.csv"),
    ("tclsh", "tcl", "exec tclsh <<< 'for {set i 0} {$i < 20000} {incr i} { set a($i) [list $i] }; puts [array size a]'"),
    ("vim", "vim", "exec vim -u NONE -es -c 'g/e/m0' -c '%p' -c q! text.txt"),
    ("xmllint", "libxml2-utils", "exec xmllint --format page.xml"),
    ("xsltproc", "xsltproc", "exec xsltproc --version"),
    ("xz", "xz-utils", "exec xz -kc text.txt"),
    ("zstd", "zstd", "exec zstd -qc text.txt"),
)]
