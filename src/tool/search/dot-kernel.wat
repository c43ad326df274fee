;; The dot product of one query with many rows: four sums of four lanes, sixteen 32-bit floats a step.
;; Rows lie one after the other, $bytes long each (a multiple of 64), so that no step reads past its row.
(module
  (import "m" "memory" (memory 1))
  (func (export "dots") (param $query i32) (param $row i32) (param $out i32) (param $rows i32) (param $bytes i32)
    (local $i i32) (local $a v128) (local $b v128) (local $c v128) (local $d v128) (local $q i32) (local $r i32)
    (block $done
      (br_if $done (i32.eqz (local.get $rows)))
      (loop $eachRow
        (local.set $i (i32.const 0))
        (local.set $a (v128.const i32x4 0 0 0 0))
        (local.set $b (v128.const i32x4 0 0 0 0))
        (local.set $c (v128.const i32x4 0 0 0 0))
        (local.set $d (v128.const i32x4 0 0 0 0))
        (loop $eachStep
          (local.set $q (i32.add (local.get $query) (local.get $i)))
          (local.set $r (i32.add (local.get $row) (local.get $i)))
          (local.set $a (f32x4.add (local.get $a) (f32x4.mul (v128.load (local.get $q)) (v128.load (local.get $r)))))
          (local.set $b (f32x4.add (local.get $b) (f32x4.mul (v128.load offset=16 (local.get $q)) (v128.load offset=16 (local.get $r)))))
          (local.set $c (f32x4.add (local.get $c) (f32x4.mul (v128.load offset=32 (local.get $q)) (v128.load offset=32 (local.get $r)))))
          (local.set $d (f32x4.add (local.get $d) (f32x4.mul (v128.load offset=48 (local.get $q)) (v128.load offset=48 (local.get $r)))))
          (br_if $eachStep (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 64))) (local.get $bytes))))
        (local.set $a (f32x4.add (f32x4.add (local.get $a) (local.get $b)) (f32x4.add (local.get $c) (local.get $d))))
        (f32.store (local.get $out)
          (f32.add
            (f32.add (f32x4.extract_lane 0 (local.get $a)) (f32x4.extract_lane 1 (local.get $a)))
            (f32.add (f32x4.extract_lane 2 (local.get $a)) (f32x4.extract_lane 3 (local.get $a)))))
        (local.set $out (i32.add (local.get $out) (i32.const 4)))
        (local.set $row (i32.add (local.get $row) (local.get $bytes)))
        (br_if $eachRow (local.tee $rows (i32.sub (local.get $rows) (i32.const 1))))))))
