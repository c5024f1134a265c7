-- Haskell: laziness, a map, green threads.
module Main (main) where

import Control.Concurrent
import qualified Data.Map.Strict as Map
import System.Environment (lookupEnv)
import System.Exit

main :: IO ()
main = do
  counted <- lookupEnv "COUNTED"
  mapM_ (`appendFile` "once\n") counted
  let table = foldr (\i -> Map.insertWith (+) (i `mod` 3000) i) Map.empty [1 .. 300000 :: Int]
      primes = sieve [2 ..] where sieve (p : rest) = p : sieve [x | x <- rest, x `mod` p /= 0]; sieve [] = []
  done <- newEmptyMVar
  _ <- forkIO (putMVar done $! sum [1 .. 2000000 :: Int])
  total <- takeMVar done
  putStrLn (show (Map.lookup 77 table) ++ " " ++ show (primes !! 1600 :: Int) ++ " " ++ show total)
  exitWith (ExitFailure 14)
