; claim: Every window that is a part of a page (page = window times parts): what lies in one window lies in one page,
;   and in one word for windows of a word. So windows of at most 4096 bytes keep AXI's 4 KiB, and no burst wraps where
;   the address space is whole windows.
; relied on by: dmaverify.machines.idma.legalizer.window_bits
; quotes: encodings/core/sequencer.smt2#core/in-window
; tamper: (= h (+ (* parts q) t)) ==> (= h (+ (* parts q) t 1))
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-window ((address Int) (size Int) (window Int)) Bool
  (and (<= (* size window) address) (< address (* size (+ window 1)))))

(declare-const a Int)
(declare-const window Int)
(declare-const parts Int)
(declare-const h Int)
(declare-const q Int)
(declare-const t Int)
(assert (and (< 0 window) (< 0 parts) (<= 0 t) (< t parts)))
(assert (= h (+ (* parts q) t)))
(assert (core/in-window a window h))
(assert (not (core/in-window a (* window parts) q)))
(check-sat)
