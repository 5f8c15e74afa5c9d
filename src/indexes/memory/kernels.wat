;; Loops over bitmaps, items and leaf numbers with SIMD. `loops.ts` has the same loops in JavaScript, and says what each gives;
;; `index-memory.ts` calls them. Addresses and sizes are in bytes. Bitmaps begin and end at multiples of 16 bytes and are not empty.
;; After a change: `npm run kernels`.
(module
  (import "index" "memory" (memory 16 32768 shared))

  (func $sum (param $lanes v128) (result i32)
    (i32.add
      (i32.add (i32x4.extract_lane 0 (local.get $lanes)) (i32x4.extract_lane 1 (local.get $lanes)))
      (i32.add (i32x4.extract_lane 2 (local.get $lanes)) (i32x4.extract_lane 3 (local.get $lanes)))))

  ;; Adds the one bits of a vector to four lanes.
  (func $addBits (param $lanes v128) (param $bits v128) (result v128)
    (i32x4.add
      (local.get $lanes)
      (i32x4.dot_i16x8_s
        (i16x8.extadd_pairwise_i8x16_u (i8x16.popcnt (local.get $bits)))
        (v128.const i16x8 1 1 1 1 1 1 1 1))))

  ;; What is in all three, to `to`. Gives the count.
  (func (export "intersect") (param $a i32) (param $b i32) (param $c i32) (param $to i32) (param $bytes i32) (result i32)
    (local $at i32) (local $bits v128) (local $count v128)
    (loop $next
      (local.set $bits
        (v128.and
          (v128.and
            (v128.load (i32.add (local.get $a) (local.get $at)))
            (v128.load (i32.add (local.get $b) (local.get $at))))
          (v128.load (i32.add (local.get $c) (local.get $at)))))
      (v128.store (i32.add (local.get $to) (local.get $at)) (local.get $bits))
      (local.set $count (call $addBits (local.get $count) (local.get $bits)))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $bytes))))
    (call $sum (local.get $count)))

  ;; What is in the first and not in the second, to `to`. Gives the count.
  (func (export "subtract") (param $a i32) (param $b i32) (param $to i32) (param $bytes i32) (result i32)
    (local $at i32) (local $bits v128) (local $count v128)
    (loop $next
      (local.set $bits
        (v128.andnot
          (v128.load (i32.add (local.get $a) (local.get $at)))
          (v128.load (i32.add (local.get $b) (local.get $at)))))
      (v128.store (i32.add (local.get $to) (local.get $at)) (local.get $bits))
      (local.set $count (call $addBits (local.get $count) (local.get $bits)))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $bytes))))
    (call $sum (local.get $count)))

  ;; Adds to the first what is in the second.
  (func (export "unite") (param $to i32) (param $a i32) (param $bytes i32)
    (local $at i32) (local $place i32)
    (loop $next
      (local.set $place (i32.add (local.get $to) (local.get $at)))
      (v128.store
        (local.get $place)
        (v128.or (v128.load (local.get $place)) (v128.load (i32.add (local.get $a) (local.get $at)))))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $bytes)))))

  (func (export "count") (param $a i32) (param $bytes i32) (result i32)
    (local $end i32) (local $count v128)
    (local.set $end (i32.add (local.get $a) (local.get $bytes)))
    (loop $next
      (local.set $count (call $addBits (local.get $count) (v128.load (local.get $a))))
      (br_if $next (i32.lt_u (local.tee $a (i32.add (local.get $a) (i32.const 16))) (local.get $end))))
    (call $sum (local.get $count)))

  ;; The slots (32 bits) that are in all three, ascending, to `to`, which has room for three more. Gives the count.
  ;; The slots of a word are written four at a time, and what is too many is written over: how many a word has is no branch.
  ;; The bitmaps begin with the slot `first`, a multiple of 128.
  (func (export "slots")
    (param $a i32) (param $b i32) (param $c i32) (param $bytes i32) (param $first i32) (param $to i32) (result i32)
    (local $at i32) (local $all v128) (local $bits i64) (local $slot i32) (local $start i32) (local $end i32)
    (local.set $start (local.get $to))
    (loop $next
      (local.set $all
        (v128.and
          (v128.and
            (v128.load (i32.add (local.get $a) (local.get $at)))
            (v128.load (i32.add (local.get $b) (local.get $at))))
          (v128.load (i32.add (local.get $c) (local.get $at)))))
      (if (v128.any_true (local.get $all))
        (then
          (local.set $bits (i64x2.extract_lane 0 (local.get $all)))
          (local.set $slot (i32.add (local.get $first) (i32.shl (local.get $at) (i32.const 3))))
          (loop $half
            (local.set $end
              (i32.add (local.get $to) (i32.shl (i32.wrap_i64 (i64.popcnt (local.get $bits))) (i32.const 2))))
            (loop $four
              (i32.store (local.get $to) (i32.add (local.get $slot) (i32.wrap_i64 (i64.ctz (local.get $bits)))))
              (local.set $bits (i64.and (local.get $bits) (i64.sub (local.get $bits) (i64.const 1))))
              (i32.store offset=4 (local.get $to) (i32.add (local.get $slot) (i32.wrap_i64 (i64.ctz (local.get $bits)))))
              (local.set $bits (i64.and (local.get $bits) (i64.sub (local.get $bits) (i64.const 1))))
              (i32.store offset=8 (local.get $to) (i32.add (local.get $slot) (i32.wrap_i64 (i64.ctz (local.get $bits)))))
              (local.set $bits (i64.and (local.get $bits) (i64.sub (local.get $bits) (i64.const 1))))
              (i32.store offset=12 (local.get $to) (i32.add (local.get $slot) (i32.wrap_i64 (i64.ctz (local.get $bits)))))
              (local.set $bits (i64.and (local.get $bits) (i64.sub (local.get $bits) (i64.const 1))))
              (br_if $four (i32.lt_u (local.tee $to (i32.add (local.get $to) (i32.const 16))) (local.get $end))))
            (local.set $to (local.get $end))
            (if (i32.eqz (i32.and (local.get $slot) (i32.const 64)))
              (then
                (local.set $bits (i64x2.extract_lane 1 (local.get $all)))
                (local.set $slot (i32.add (local.get $slot) (i32.const 64)))
                (br $half))))))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $bytes))))
    (i32.shr_u (i32.sub (local.get $to) (local.get $start)) (i32.const 2)))

  ;; Adds the slots of a bitmap to the counts (32 bits) of their leaves (16 bits by slot).
  (func (export "countByLeaf") (param $words i32) (param $bytes i32) (param $leafOf i32) (param $counts i32)
    (local $bits i64) (local $end i32) (local $count i32)
    (local.set $end (i32.add (local.get $words) (local.get $bytes)))
    (loop $next
      (local.set $bits (i64.load (local.get $words)))
      (if (i64.ne (local.get $bits) (i64.const 0))
        (then
          (loop $bit
            (local.set $count
              (i32.add
                (local.get $counts)
                (i32.shl
                  (i32.load16_u
                    (i32.add
                      (local.get $leafOf)
                      (i32.shl (i32.wrap_i64 (i64.ctz (local.get $bits))) (i32.const 1))))
                  (i32.const 2))))
            (i32.store (local.get $count) (i32.add (i32.load (local.get $count)) (i32.const 1)))
            (br_if $bit
              (i64.ne
                (local.tee $bits (i64.and (local.get $bits) (i64.sub (local.get $bits) (i64.const 1))))
                (i64.const 0))))))
      (local.set $leafOf (i32.add (local.get $leafOf) (i32.const 128)))
      (br_if $next (i32.lt_u (local.tee $words (i32.add (local.get $words) (i32.const 8))) (local.get $end)))))

  ;; How many items (32 bits, at least one) are in a bitmap that has a bit for each.
  (func (export "countAmong") (param $words i32) (param $items i32) (param $bytes i32) (result i32)
    (local $end i32) (local $item i32) (local $count i32)
    (local.set $end (i32.add (local.get $items) (local.get $bytes)))
    (loop $next
      (local.set $item (i32.load (local.get $items)))
      (local.set $count
        (i32.add
          (local.get $count)
          (i32.and
            (i32.shr_u
              (i32.load8_u (i32.add (local.get $words) (i32.shr_u (local.get $item) (i32.const 3))))
              (i32.and (local.get $item) (i32.const 7)))
            (i32.const 1))))
      (br_if $next (i32.lt_u (local.tee $items (i32.add (local.get $items) (i32.const 4))) (local.get $end))))
    (local.get $count))

  ;; Place of an item (32 bits) among others, which it is counted from; -1 when it is not there. Whole vectors are looked at.
  (func (export "find") (param $items i32) (param $bytes i32) (param $item i32) (result i32)
    (local $at i32) (local $wanted v128) (local $same i32)
    (local.set $wanted (i32x4.splat (local.get $item)))
    (loop $next
      (local.set $same
        (i32x4.bitmask
          (i32x4.eq (v128.load (i32.add (local.get $items) (local.get $at))) (local.get $wanted))))
      (if (local.get $same)
        (then (return (i32.add (i32.shr_u (local.get $at) (i32.const 2)) (i32.ctz (local.get $same))))))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $bytes))))
    (i32.const -1))

  ;; Those of JavaScript copy and fill shared memory word by word.
  (func (export "move") (param $to i32) (param $from i32) (param $bytes i32)
    (memory.copy (local.get $to) (local.get $from) (local.get $bytes)))

  (func (export "clear") (param $to i32) (param $bytes i32)
    (memory.fill (local.get $to) (i32.const 0) (local.get $bytes)))
)
