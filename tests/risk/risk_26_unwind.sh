#!/bin/bash
# Row 26: exceptions through our frames; control-flow protection marks of the built library.
. "$(dirname "$0")/lib.sh"
need readelf

compile "$TMP/unwind" risk_26_unwind.cpp -ldl
must "$TMP/unwind"
compile "$TMP/unwind_cet" risk_26_unwind.cpp -fcf-protection=full -O2 -ldl 2>/dev/null &&
    must "$TMP/unwind_cet"

# A process with a shadow stack turns it off when one library lacks the mark. (Linux has no IBT in user space, and its landing
# marks would cost malloc and free an instruction each, so that mark is not set.)
case $(uname -m) in
    x86_64) notes=$(readelf -nW "$VT_SO" | grep -i 'x86 feature: ')
            case $notes in *SHSTK*) say "marks: $notes" ;;
                *) fail "expected the mark SHSTK in $SO_NAME, saw '$notes'" ;; esac
            grep -qw user_shstk /proc/cpuinfo || say "part skipped: no shadow stack on this CPU, the mark alone was checked" ;;
    aarch64) notes=$(readelf -nW "$VT_SO" | grep -i 'AArch64 feature: ')
            case $notes in *BTI*PAC*) ;; *) fail "expected the marks BTI and PAC in $SO_NAME, saw '$notes'" ;; esac ;;
esac
stack=$(readelf -lW "$VT_SO" | awk '$1 == "GNU_STACK" { print $7 $8 }')
case $stack in *E*|'') fail "expected a stack that is not executable, saw '$stack'" ;; esac
! readelf -dW "$VT_SO" | grep -q TEXTREL || fail "expected no text relocations in $SO_NAME"
